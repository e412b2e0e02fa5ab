#include "simulate/simulate.h"

#include <gtest/gtest.h>

#include <random>

#include "unit/profile/events.h"

namespace hearth::simulate {
namespace {

using profile::test::Script;

constexpr std::uint64_t kBig = 1 << 20;

tier::Machine machine() {
  tier::Machine m;
  m.fast = {.read = 10e9, .write = 5e9};
  m.slow = {.read = 2e9, .write = 1e9};
  return m;
}

profile::Profile profile_of(const Script& script) {
  std::vector<hearth_event> events = script.events();
  for (hearth_event& event : events) {
    const bool tensor = event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC;
    if (tensor && event.bytes >= 16384) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  }
  return profile::build(events, script.names());
}

// A weight is read, an output written and read; a small tensor is no object.
Workload small() {
  Script script;
  script.live(1, kBig);
  script.begin("forward").operand(1, HEARTH_ACCESS_READ, kBig).alloc(2, 2 * kBig);
  script.operand(2, HEARTH_ACCESS_WRITE, 2 * kBig).alloc(3, 100).end("forward");
  script.begin("backward").operand(2, HEARTH_ACCESS_READ, 2 * kBig).end("backward").free(2).free(3);
  return make_workload(profile_of(script), {});
}

TEST(Workload, ObjectsAreWhatCanBePlaced) {
  const Workload workload = small();
  ASSERT_EQ(workload.objects.size(), 2u);
  EXPECT_TRUE(workload.objects[0].resident);
  EXPECT_EQ(workload.objects[0].bytes, kBig);
  EXPECT_FALSE(workload.objects[1].resident);
  ASSERT_EQ(workload.uses.size(), 3u);
  EXPECT_EQ(workload.uses[0].read + workload.uses[1].read, kBig);
  EXPECT_EQ(workload.uses[0].write + workload.uses[1].write, 2 * kBig);
}

TEST(Workload, ATensorThatOutlivesTheIterationIsOneWithItsCounterpart) {
  Script script;
  script.live(1, kBig).begin("op").free(1).alloc(2, kBig).end("op");
  // The counterpart was made by the same op in the former iteration.
  std::vector<hearth_event> events = script.events();
  events[0].name = 1;
  for (hearth_event& event : events) {
    if (event.bytes == kBig) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  }
  const Workload workload = make_workload(profile::build(events, script.names()), {});
  ASSERT_EQ(workload.objects.size(), 1u);
  EXPECT_FALSE(workload.objects[0].resident);
  EXPECT_GT(workload.objects[0].alive[1].to, 0u);
  EXPECT_EQ(workload.objects[0].alive[0].to, workload.period);
}

TEST(Simulate, EverythingFastTakesWhatItTook) {
  const Workload workload = small();
  const std::vector<float> fast(2, 0.0F);
  EXPECT_DOUBLE_EQ(simulate(workload, machine(), fast).step_ns, workload.step_ns);
  EXPECT_EQ(simulate(workload, machine(), fast).slow_bytes, 0);
}

TEST(Simulate, SlowOpsTakeTheTimeOfTheirTraffic) {
  const Workload workload = small();
  const std::vector<float> slow{0, 1};  // the output
  const double forward = kBig / 10e9 * 1e9 + 2 * kBig / 1e9 * 1e9;
  const double backward = 2 * kBig / 2e9 * 1e9;
  EXPECT_NEAR(op_ns(workload, machine(), workload.ops[0], slow), forward, 1e-3);
  EXPECT_NEAR(op_ns(workload, machine(), workload.ops[1], slow), backward, 1e-3);
  EXPECT_NEAR(simulate(workload, machine(), slow).step_ns, workload.rest_ns + forward + backward, 1e-3);
}

TEST(Simulate, AnOpThatComputesLongerPaysNothing) {
  Workload workload = small();
  for (Op& op : workload.ops) op.self_ns = 1e9;
  const std::vector<float> slow(2, 1.0F);
  EXPECT_DOUBLE_EQ(simulate(workload, machine(), slow).step_ns, workload.rest_ns + 2e9);
}

TEST(Simulate, StepsAreScaledToAnUnprofiledIteration) {
  Script script;
  script.live(1, kBig).begin("op").operand(1, HEARTH_ACCESS_READ, kBig).end("op");
  const profile::Profile profile = profile_of(script);
  const Workload workload = make_workload(profile, {.step_ns = 5e6});
  EXPECT_NEAR(workload.step_ns, 5e6, 1);
}

TEST(Simulate, MoreOnTheSlowTierIsNeverQuicker) {
  const Workload workload = small();
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<float> shares(2);
    for (float& share : shares) share = static_cast<float>(random() % 11) / 10;
    std::vector<float> more = shares;
    more[random() % 2] = 1;
    EXPECT_LE(simulate(workload, machine(), shares).step_ns, simulate(workload, machine(), more).step_ns + 1e-6);
  }
}

TEST(Simulate, FastBytesAreThoseOfLiveObjects) {
  const Workload workload = small();
  EXPECT_EQ(simulate(workload, machine(), std::vector<float>{0, 0}).fast_peak, 3 * kBig);
  EXPECT_EQ(simulate(workload, machine(), std::vector<float>{0, 1}).fast_peak, kBig);
  EXPECT_EQ(simulate(workload, machine(), std::vector<float>{0.5F, 1}).fast_peak, kBig / 2);
}

}  // namespace
}  // namespace hearth::simulate
