#include <gtest/gtest.h>

#include <random>

#include "plan/json_reader.h"
#include "plan/json_writer.h"
#include "plan/validate.h"
#include "policy/choose.h"
#include "policy/tiered_plan.h"
#include "policy/timeline.h"
#include "unit/profile/events.h"

namespace hearth::policy {
namespace {

using profile::test::Script;
using simulate::Workload;

constexpr std::uint64_t kBig = 1 << 20;

tier::Machine machine() {
  tier::Machine m;
  m.fast = {.read = 10e9, .write = 5e9};
  m.slow = {.read = 2e9, .write = 0.7e9};
  return m;
}

// Forward: each layer reads its weight and the activation before it and writes its own, with scratch in between; then
// backward, the other way round.
profile::Profile training(std::uint32_t layers, std::uint32_t seed) {
  std::mt19937 random(seed);
  Script script;
  std::vector<std::uint64_t> weight, activation;
  for (std::uint32_t i = 0; i < layers; ++i) {
    weight.push_back(kBig / 4 * (1 + random() % 8));
    activation.push_back(kBig / 4 * (1 + random() % 16));
    script.live(1 + i, weight[i]);
  }
  std::uint32_t next = 1000;
  const auto layer = [&](std::uint32_t i, std::uint32_t own, std::uint32_t before, bool forward) {
    const std::uint32_t scratch = next++;
    script.begin("layer").alloc(scratch, kBig).operand(scratch, HEARTH_ACCESS_READ_WRITE, kBig);
    script.operand(1 + i, HEARTH_ACCESS_READ, weight[i]);
    if (forward) script.alloc(own, activation[i]);
    script.operand(own, forward ? HEARTH_ACCESS_WRITE : HEARTH_ACCESS_READ, activation[i]);
    if (before != 0) script.operand(before, HEARTH_ACCESS_READ, activation[i - 1]);
    script.free(scratch).end("layer");
  };
  for (std::uint32_t i = 0; i < layers; ++i) layer(i, 100 + i, i != 0 ? 99 + i : 0, true);
  for (std::uint32_t i = layers; i-- > 0;) {
    layer(i, 100 + i, i != 0 ? 99 + i : 0, false);
    script.free(100 + i);
  }
  std::vector<hearth_event> events = script.events();
  for (hearth_event& event : events) {
    const bool tensor = event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC;
    if (tensor) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  }
  return profile::build(events, script.names());
}

double step_of(const Workload& workload, const Shares& shares) {
  return simulate::simulate(workload, machine(), shares).step_ns;
}

TEST(Timeline, RoomIsWhatTheFullestMomentLeaves) {
  Timeline timeline(100, 10);
  simulate::Object early, late, all;
  early.alive[0] = {0, 50};
  late.alive[0] = {50, 100};
  all.alive[0] = {0, 100};
  timeline.take(early, 7);
  EXPECT_DOUBLE_EQ(timeline.room(early), 3);
  EXPECT_DOUBLE_EQ(timeline.room(late), 10);
  EXPECT_DOUBLE_EQ(timeline.room(all), 3);
  EXPECT_DOUBLE_EQ(timeline.share(early), 0.5);
}

TEST(Choose, EverythingFitsAndNothingFits) {
  const Workload workload = simulate::make_workload(training(6, 1), {});
  for (const float share : choose_sentinel(workload, machine(), 1e12)) EXPECT_EQ(share, 0);
  for (const float share : choose_sentinel(workload, machine(), 0)) EXPECT_EQ(share, 1);
  for (const float share : choose_first_touch(workload, 1e12)) EXPECT_EQ(share, 0);
}

TEST(Choose, TheCapacityHolds) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Workload workload = simulate::make_workload(training(3 + seed, seed), {});
    const auto peak = static_cast<double>(simulate::simulate(workload, machine(), choose_all(workload, 0)).fast_peak);
    for (const double part : {0.1, 0.2, 0.5, 0.9}) {
      for (const Shares& shares :
           {choose_sentinel(workload, machine(), peak * part), choose_first_touch(workload, peak * part),
            choose_interleave(workload, peak * part)}) {
        EXPECT_LE(static_cast<double>(simulate::simulate(workload, machine(), shares).fast_peak), peak * part + 8192);
      }
    }
  }
}

// What the policy is for: less time than what users have today, on every one of these.
TEST(Choose, SentinelBeatsFirstTouchAndInterleave) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const Workload workload = simulate::make_workload(training(4 + seed % 9, seed), {});
    const auto peak = static_cast<double>(simulate::simulate(workload, machine(), choose_all(workload, 0)).fast_peak);
    const double ours = step_of(workload, choose_sentinel(workload, machine(), peak * 0.2));
    EXPECT_LE(ours, step_of(workload, choose_first_touch(workload, peak * 0.2)) * 1.0001) << seed;
    EXPECT_LE(ours, step_of(workload, choose_interleave(workload, peak * 0.2)) * 1.0001) << seed;
  }
}

// Against the best of all placements of few objects, each wholly on one tier.
TEST(Choose, SentinelIsNearTheBestOfSmallInstances) {
  double worst = 1;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const Workload workload = simulate::make_workload(training(3, seed), {});
    ASSERT_LE(workload.objects.size(), 16u);
    const auto peak = static_cast<double>(simulate::simulate(workload, machine(), choose_all(workload, 0)).fast_peak);
    const double capacity = peak * 0.4;
    double best = step_of(workload, choose_all(workload, 1));
    for (std::uint32_t bits = 0; bits < 1u << workload.objects.size(); ++bits) {
      Shares shares = choose_all(workload, 1);
      for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = (bits >> i & 1) != 0 ? 0.0F : 1.0F;
      const simulate::Outcome outcome = simulate::simulate(workload, machine(), shares);
      if (static_cast<double>(outcome.fast_peak) <= capacity) best = std::min(best, outcome.step_ns);
    }
    const double ours = step_of(workload, choose_sentinel(workload, machine(), capacity));
    worst = std::max(worst, ours / best);
  }
  EXPECT_LE(worst, 1.15);
}

TEST(TieredPlan, IsSoundAndKeepsItsBudget) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const profile::Profile profile = training(5 + seed, seed);
    for (const double part : {0.0, 0.05, 0.2, 0.6, 2.0}) {
      TierOptions options;
      options.fast_capacity = static_cast<std::uint64_t>(part * static_cast<double>(profile.peak_bytes));
      const Result<plan::Plan> plan = tiered_plan(profile, machine(), options);
      ASSERT_TRUE(plan) << plan.error();
      EXPECT_TRUE(plan::validate(*plan));
      EXPECT_EQ(plan->residency.policy, "sentinel");
      EXPECT_GE(plan->residency.prediction.step_ns, plan->residency.prediction.all_fast_ns);
      EXPECT_LE(plan->residency.prediction.step_ns, plan->residency.prediction.all_slow_ns);
      if (part >= 0.05) {
        EXPECT_LE(plan->residency.prediction.fast_peak, options.fast_capacity);
      }
      const Result<plan::Plan> read = plan::parse_plan(plan::to_json(*plan), "p.json");
      ASSERT_TRUE(read) << read.error();
      EXPECT_EQ(read->residency, plan->residency);
    }
  }
}

TEST(TieredPlan, EveryTensorIsOnOneTierAndInAnArenaOfThat) {
  const profile::Profile profile = training(8, 5);
  TierOptions options;
  options.fast_capacity = profile.peak_bytes / 4;
  const Result<plan::Plan> plan = tiered_plan(profile, machine(), options);
  ASSERT_TRUE(plan) << plan.error();
  ASSERT_EQ(plan->arenas.size(), 2u);
  EXPECT_NE(plan->arenas[0].tier, plan->arenas[1].tier);
  for (const plan::Entry& entry : plan->entries) EXPECT_LT(entry.arena, 2u);
}

}  // namespace
}  // namespace hearth::policy
