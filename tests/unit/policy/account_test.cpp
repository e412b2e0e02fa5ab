#include "policy/account_of.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "policy/ledger.h"
#include "policy/tiered_plan.h"
#include "simulate/simulate.h"
#include "unit/profile/events.h"

namespace hearth::policy {
namespace {

using plan::Reason;
using simulate::Workload;
using tier::Tier;

constexpr std::uint64_t kBig = 1 << 20;
constexpr double kFastNs = kBig / 10e9 * 1e9;  // to read kBig
constexpr double kSlowNs = kBig / 1e9 * 1e9;
constexpr double kMore = kSlowNs - kFastNs;

tier::Machine machine() {
  tier::Machine m;
  m.fast = {.read = 10e9, .write = 10e9};
  m.slow = {.read = 1e9, .write = 1e9};
  m.move_to_fast = m.move_to_slow = 1e9;
  return m;
}

// Weights of kBig each, and ops that read them whole.
struct Scene {
  profile::Profile profile;
  Workload workload;
  simulate::Schedule schedule;

  Scene() { profile.names = {"", "aten::empty", "layer"}; }

  std::uint32_t weight(std::vector<Tier> halves, std::uint8_t frequency = 0, bool planned = true) {
    const auto index = static_cast<std::uint32_t>(workload.objects.size());
    profile::Tensor tensor;
    tensor.serial = 100 + index;
    tensor.bytes = kBig;
    tensor.producer = 1;
    tensor.module = 2;
    tensor.lifetime = profile::Lifetime::persistent;
    tensor.frequency = frequency;
    profile.tensors.push_back(tensor);
    workload.objects.push_back({.bytes = kBig, .tensor = index, .resident = planned, .alive = {{0, 1}, {}}});
    const double share = 1.0 / static_cast<double>(std::max<std::size_t>(halves.size(), 1));
    for (const Tier begin : halves) {
      const auto bytes = static_cast<std::uint64_t>(share * kBig);
      schedule.pieces.push_back({.object = index, .share = share, .bytes = bytes, .begin = begin});
    }
    workload.period = 1;
    return index;
  }
  void op(double self_ns, std::vector<std::uint32_t> reads) {
    simulate::Op op{self_ns, static_cast<std::uint32_t>(workload.uses.size()),
                    static_cast<std::uint32_t>(reads.size())};
    for (const std::uint32_t object : reads) workload.uses.push_back({object, static_cast<double>(kBig), 0});
    workload.ops.push_back(op);
  }

  plan::Account account() {
    const tier::Machine m = machine();
    Ledger ledger(profile, workload, m, schedule);
    step_ns = simulate::simulate(workload, m, schedule, &ledger).step_ns;
    const std::vector<std::uint32_t> none(schedule.pieces.size(), kNoStretch);
    return account_of({profile, workload, m, schedule, none, step_ns}, ledger);
  }
  Reason reason_of(std::uint32_t object) {
    for (const plan::TensorAccount& each : account().tensors) {
      if (each.serial == 100 + object) return each.reason;
    }
    ADD_FAILURE() << "object " << object << " is not told about";
    return Reason::unplanned;
  }
  double step_ns = 0;
};

TEST(Account, WhatNeverLeavesStays) {
  Scene scene;
  const std::uint32_t weight = scene.weight({Tier::fast, Tier::fast});
  scene.op(0, {weight});
  EXPECT_EQ(scene.reason_of(weight), Reason::stays);
}

TEST(Account, WhatLiesOnBothTiersIsFastInPart) {
  Scene scene;
  const std::uint32_t weight = scene.weight({Tier::fast, Tier::slow});
  scene.op(0, {weight});
  EXPECT_EQ(scene.reason_of(weight), Reason::partly);
  const plan::Stake stake = scene.account().tensors[0].stake;
  EXPECT_NEAR(static_cast<double>(stake.gain_ns), kMore / 2, 2);
  EXPECT_NEAR(static_cast<double>(stake.possible_ns), kMore / 2, 2);
  EXPECT_EQ(stake.fast_most, kBig / 2);
}

TEST(Account, AnOpThatComputesLongerGivesNothingToGain) {
  Scene scene;
  const std::uint32_t weight = scene.weight({Tier::slow});
  scene.op(2 * kSlowNs, {weight});
  EXPECT_EQ(scene.reason_of(weight), Reason::no_gain);
  scene.op(0, {weight});
  EXPECT_NE(scene.reason_of(weight), Reason::no_gain);
}

TEST(Account, WithoutRoomWhileItIsUsedThereIsNone) {
  Scene scene;
  const std::uint32_t fast = scene.weight({Tier::fast}), slow = scene.weight({Tier::slow});
  scene.op(0, {fast, slow});
  scene.schedule.capacity = 1.5 * kBig;
  EXPECT_EQ(scene.reason_of(slow), Reason::no_room);
  scene.schedule.capacity = 2 * kBig;
  EXPECT_EQ(scene.reason_of(slow), Reason::seldom) << "once is less than it takes to fetch and to send away";
  scene.op(0, {slow});
  scene.op(0, {slow});
  EXPECT_EQ(scene.reason_of(slow), Reason::no_time) << "three times is more";
}

TEST(Account, WhatWasToBeFastAndFoundNoRoomIsNot) {
  Scene scene;
  const std::uint32_t first = scene.weight({Tier::fast}), second = scene.weight({Tier::fast});
  scene.op(0, {first, second});
  scene.schedule.capacity = kBig;
  EXPECT_EQ(scene.reason_of(first), Reason::stays);
  EXPECT_EQ(scene.reason_of(second), Reason::no_room);
  scene.schedule.capacity = 1.5 * kBig;
  EXPECT_EQ(scene.reason_of(second), Reason::partly);
}

TEST(Account, WhatNoPlanCanPlaceIsTheHeaps) {
  Scene scene;
  const std::uint32_t weight = scene.weight({}, 0, false);
  scene.op(0, {weight});
  EXPECT_EQ(scene.reason_of(weight), Reason::unplanned);
}

// Two ops with the weight fast, one with it slow and time enough around it.
TEST(Account, MovesAreToldWithTheirWindowsAndTheirCost) {
  Scene scene;
  const std::uint32_t weight = scene.weight({Tier::fast}), other = scene.weight({Tier::fast});
  scene.op(0, {weight});
  scene.op(3 * kSlowNs, {other});
  scene.op(0, {weight});
  scene.op(3 * kSlowNs, {other});
  scene.op(0, {weight});
  scene.schedule.moves = {{.piece = 0, .to = Tier::slow, .at = 1, .due = 2},
                          {.piece = 0, .to = Tier::fast, .at = 3, .due = 4}};
  const plan::Account account = scene.account();
  const plan::TensorAccount& told = account.tensors[0];
  EXPECT_EQ(told.reason, Reason::moves);
  EXPECT_EQ(told.uses, 3u);
  EXPECT_EQ(told.fast_uses, 2u);
  EXPECT_EQ(told.op, "aten::empty");
  EXPECT_EQ(told.module, "layer");
  EXPECT_EQ(told.stake.moved_bytes, 2 * kBig);
  EXPECT_NEAR(static_cast<double>(told.stake.lane_ns), 2 * kSlowNs, 2);
  EXPECT_NEAR(static_cast<double>(told.stake.gain_ns), 2 * kMore, 2);
  EXPECT_NEAR(static_cast<double>(told.stake.possible_ns), kMore, 2);
  EXPECT_EQ(told.stake.windows, (std::vector<plan::Window>{{0, 2}, {4, 5}}));
  EXPECT_LT(told.stake.fast_average, kBig);
  EXPECT_GT(told.stake.fast_average, kBig / 4);
  ASSERT_EQ(account.classes.size(), 1u);
  EXPECT_EQ(account.classes[0].stake.moved_bytes, 2 * kBig);
  EXPECT_EQ(account.classes[0].bytes_by_reason[static_cast<std::size_t>(Reason::moves)], kBig);
  EXPECT_EQ(account.classes[0].bytes_by_reason[static_cast<std::size_t>(Reason::stays)], kBig);
}

// From op 1 to op 3 it is slow, and nothing else changes in that time.
TEST(Account, TheTimelineHoldsBetweenChanges) {
  Scene scene;
  const std::uint32_t weight = scene.weight({Tier::fast}), other = scene.weight({Tier::fast});
  scene.op(0, {weight});
  scene.op(20 * kSlowNs, {other});
  scene.op(20 * kSlowNs, {other});
  scene.op(0, {weight});
  scene.schedule.moves = {{.piece = 0, .to = Tier::slow, .at = 1, .due = 2},
                          {.piece = 0, .to = Tier::fast, .at = 3, .due = 4}};
  const std::vector<plan::Moment> timeline = scene.account().timeline;
  ASSERT_EQ(timeline.size(), plan::Account::kMoments);
  EXPECT_EQ(timeline.front().total(), 2 * kBig);
  for (std::size_t i = 8; i < 56; ++i) {
    EXPECT_EQ(timeline[i].fast[plan::kPersistent], kBig) << i;
    EXPECT_EQ(timeline[i].op, i < 32 ? 1u : 2u) << i;
  }
}

// One operand alone would be hidden behind the computing, both are not.
TEST(Account, AClassGainsAsOne) {
  Scene scene;
  const std::uint32_t a = scene.weight({Tier::fast}, 1), b = scene.weight({Tier::fast}, 1),
                      c = scene.weight({Tier::fast}, 2);
  scene.op(kSlowNs + kFastNs * 2, {a, b, c});
  const plan::Account account = scene.account();
  ASSERT_EQ(account.classes.size(), 2u);
  EXPECT_EQ(account.tensors[0].stake.gain_ns, 0u);
  EXPECT_NEAR(static_cast<double>(account.classes[0].stake.gain_ns), kMore, kFastNs);
  EXPECT_EQ(account.classes[1].stake.gain_ns, 0u);
}

// A training: layers with weights, activations from forward to backward, scratch.
profile::Profile training(std::uint32_t layers) {
  profile::test::Script script;
  for (std::uint32_t i = 0; i < layers; ++i) script.live(1 + i, kBig * (1 + i % 3));
  const auto layer = [&](std::uint32_t i, bool forward) {
    script.begin("layer");
    script.alloc(1000 + 2 * i + forward, kBig).operand(1000 + 2 * i + forward, HEARTH_ACCESS_READ_WRITE, kBig);
    script.operand(1 + i, HEARTH_ACCESS_READ, kBig * (1 + i % 3));
    if (forward) script.alloc(100 + i, 2 * kBig);
    script.operand(100 + i, forward ? HEARTH_ACCESS_WRITE : HEARTH_ACCESS_READ, 2 * kBig);
    script.free(1000 + 2 * i + forward).end("layer");
    if (!forward) script.free(100 + i);
  };
  for (std::uint32_t i = 0; i < layers; ++i) layer(i, true);
  for (std::uint32_t i = layers; i-- > 0;) layer(i, false);
  std::vector<hearth_event> events = script.events();
  for (hearth_event& event : events) {
    const bool tensor = event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC;
    if (tensor) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  }
  return profile::build(events, script.names());
}

void check(const plan::Stake& stake, std::uint32_t ops) {
  EXPECT_LE(stake.fast_average, stake.fast_most);
  EXPECT_LE(stake.fast_most, stake.bytes);
  EXPECT_EQ(stake.windows.empty(), stake.fast_most == 0);
  std::uint32_t end = 0;
  for (const plan::Window& window : stake.windows) {
    EXPECT_GE(window.from, end);
    EXPECT_LT(window.from, window.to);
    end = window.to;
  }
  EXPECT_LE(end, ops);
}

TEST(Account, SumsAgreeWithWhatThePlanForesees) {
  std::size_t moves = 0;
  for (const Policy policy : {Policy::sentinel, Policy::tier_queue}) {
    for (const std::uint32_t layers : {4u, 12u, 40u}) {
      const profile::Profile profile = training(layers);
      TierOptions options;
      options.policy = policy;
      options.fast_capacity = profile.peak_bytes / 4;
      const Result<plan::Plan> plan = tiered_plan(profile, machine(), options);
      ASSERT_TRUE(plan) << plan.error();
      const plan::Residency& residency = plan->residency;
      const plan::Account& account = residency.account;
      std::uint64_t bytes = 0, moved = 0, moved_of_tensors = 0;
      for (const plan::ClassAccount& each : account.classes) {
        check(each.stake, residency.ops);
        EXPECT_EQ(std::accumulate(each.bytes_by_reason.begin(), each.bytes_by_reason.end(), std::uint64_t{0}),
                  each.stake.bytes);
        bytes += each.stake.bytes;
        moved += each.stake.moved_bytes;
      }
      std::uint64_t placeable = 0;
      for (const profile::Tensor& tensor : profile.tensors) placeable += tensor.bytes;
      EXPECT_EQ(bytes, placeable);
      moves += residency.moves.size();
      std::vector<bool> told(residency.stretches.size(), false);
      for (const plan::TensorAccount& each : account.tensors) {
        check(each.stake, residency.ops);
        moved_of_tensors += each.stake.moved_bytes;
        EXPECT_LE(each.fast_uses, each.uses);
        for (std::uint32_t s = 0; s < each.stretches; ++s) told[each.first_stretch + s] = true;
      }
      EXPECT_NEAR(static_cast<double>(moved_of_tensors), static_cast<double>(moved), 512);
      for (const plan::Move& move : residency.moves)
        EXPECT_TRUE(told[move.stretch]) << "a move of what is not told about";
      EXPECT_EQ(account.timeline.size(), plan::Account::kMoments);
      std::uint64_t most = 0;
      for (const plan::Moment& moment : account.timeline) {
        const std::uint64_t fast = std::accumulate(moment.fast.begin(), moment.fast.end(), std::uint64_t{0});
        most = std::max(most, fast);
        EXPECT_LT(moment.op, residency.ops);
        EXPECT_LE(moment.ns, residency.prediction.step_ns);
      }
      EXPECT_LE(most, residency.prediction.fast_peak + plan::kFastKinds);
      EXPECT_GE(most, residency.prediction.fast_average);
    }
  }
  EXPECT_GT(moves, 0u) << "or this shows little";
}

}  // namespace
}  // namespace hearth::policy
