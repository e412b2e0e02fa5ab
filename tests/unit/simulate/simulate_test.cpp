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

TEST(Workload, OpsComeInTheOrderOfTheirEnds) {
  // The inner op allocates what the outer one writes then; a tensor dies inside the outer one after that.
  Script script;
  script.live(1, kBig).begin("outer").begin("inner").alloc(2, kBig).end("inner").alloc(3, kBig).free(3);
  script.operand(2, HEARTH_ACCESS_WRITE, kBig).end("outer").begin("next").operand(2, HEARTH_ACCESS_READ, kBig);
  script.end("next").free(2);
  const Workload workload = make_workload(profile_of(script), {});
  ASSERT_EQ(workload.ops.size(), 3u);
  ASSERT_EQ(workload.objects.size(), 3u);
  EXPECT_EQ(workload.ops[0].uses, 0u);
  EXPECT_EQ(workload.ops[1].uses, 2u);  // that of its own scratch, too
  EXPECT_EQ(workload.objects[1].birth_op, 0u);
  EXPECT_EQ(workload.objects[1].death_op, 2u);
  EXPECT_EQ(workload.objects[2].birth_op, 1u);
  EXPECT_EQ(workload.objects[2].death_op, 1u);
  EXPECT_EQ(workload.entry_ops, (std::vector<std::uint32_t>{0, 1}));
}

// An op computes before the one that it runs inside begins, and after it has ended.
Script nested() {
  Script script;
  script.live(1, kBig).begin("before").end("before");
  script.begin("outer").operand(1, HEARTH_ACCESS_READ, kBig).begin("inner").end("inner").end("outer");
  script.begin("next").end("next");
  return script;
}

constexpr double kMs = 1e6;

profile::Profile at_times(const Script& script, const std::vector<std::uint64_t>& ms) {
  std::vector<hearth_event> events = script.events();
  EXPECT_EQ(events.size(), ms.size());
  for (std::size_t i = 0; i < events.size(); ++i) events[i].time_ns = ms[i] * 1'000'000;
  events[0].flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  return profile::build(events, script.names());
}

TEST(Workload, WhatOpsComputeBeforeThoseInsideThemIsTheLeadOfThese) {
  // The weight, before, outer, its operand, inner, the end of outer, next.
  const profile::Profile profile = at_times(nested(), {0, 0, 100, 200, 200, 600, 650, 700, 800, 900});
  const Workload workload = make_workload(profile, {});
  ASSERT_EQ(workload.ops.size(), 4u);
  const auto expect = [&](std::size_t op, double self, double lead, double spent, std::uint32_t from) {
    EXPECT_EQ(workload.ops[op].self_ns, self * kMs) << op;
    EXPECT_EQ(workload.ops[op].lead_ns, lead * kMs) << op;
    EXPECT_EQ(workload.ops[op].spent_ns, spent * kMs) << op;
    EXPECT_EQ(workload.ops[op].from, from) << op;
  };
  expect(0, 100, 0, 0, 0);         // before
  expect(1, 50, 100 + 400, 0, 1);  // inner
  expect(2, 450, 0, 400, 1);       // outer
  expect(3, 100, 100, 0, 3);       // next
  EXPECT_EQ(workload.ops[2].lapse_ns(450 * kMs), 50 * kMs);
  EXPECT_EQ(workload.outside_ns(), 200 * kMs);
  EXPECT_EQ(workload.rest_ns, 0);
  EXPECT_EQ(simulate(workload, machine(), std::vector<float>(1, 0.0F)).step_ns, 900 * kMs);
}

// embedding_dense_backward returns what zero_(), inside it, has filled, and adds to some rows.
TEST(Workload, WhatIsHandedOnMovesOnceWhetherTheOuterOpTouchesItOrNot) {
  for (const bool touched : {false, true}) {
    Script script;
    script.live(1, kBig).begin("outer").begin("zero_").operand(1, HEARTH_ACCESS_WRITE, kBig).end("zero_");
    if (touched) script.fault(1, HEARTH_ACCESS_READ_WRITE);
    script.operand(1, HEARTH_ACCESS_WRITE, kBig).end("outer");
    const Workload workload = make_workload(profile_of(script), {});
    ASSERT_EQ(workload.uses.size(), 1u) << touched;
    EXPECT_EQ(workload.ops[0].uses, 1u) << touched;
    EXPECT_EQ(workload.uses[0].write, kBig) << touched;
  }
}

// Nobody announces it, so with HEARTH_PROFILE=ops nothing but its life tells of it; a fault tells of its first write.
TEST(Workload, WhatAnOpAllocatesAndFreesItWritesAndReadsHoweverItWasSeen) {
  for (const bool faults : {false, true}) {
    Script script;
    script.begin("convolution").alloc(1, kBig);
    if (faults) script.fault(1, HEARTH_ACCESS_WRITE);
    script.free(1).end("convolution");
    const Workload workload = make_workload(profile_of(script), {});
    ASSERT_EQ(workload.uses.size(), 1u) << faults;
    EXPECT_EQ(workload.uses[0].read, kBig);
    EXPECT_EQ(workload.uses[0].write, kBig);
  }
}

TEST(Simulate, EverythingFastTakesTheTimeOfItsTrafficInFastMemory) {
  Workload workload = small();
  for (Op& op : workload.ops) op.self_ns = 0;
  const double expected = kBig / 10.0 + 2 * kBig / 5.0 + 2 * kBig / 10.0;
  EXPECT_NEAR(all_fast_ns(workload, machine()), workload.outside_ns() + expected, 1e-3);
  EXPECT_EQ(simulate(workload, machine(), std::vector<float>(2, 0.0F)).slow_bytes, 0);
}

TEST(Simulate, SlowOpsTakeTheTimeOfTheirTraffic) {
  const Workload workload = small();
  const std::vector<float> slow{0, 1};  // the output
  const double forward = kBig / 10e9 * 1e9 + 2 * kBig / 1e9 * 1e9;
  const double backward = 2 * kBig / 2e9 * 1e9;
  EXPECT_NEAR(op_ns(workload, machine(), workload.ops[0], slow), forward, 1e-3);
  EXPECT_NEAR(op_ns(workload, machine(), workload.ops[1], slow), backward, 1e-3);
  EXPECT_NEAR(simulate(workload, machine(), slow).step_ns, workload.outside_ns() + forward + backward, 1e-3);
}

TEST(Simulate, AnOpThatComputesLongerPaysNothing) {
  Workload workload = small();
  for (Op& op : workload.ops) op.self_ns = 1e9;
  const std::vector<float> slow(2, 1.0F);
  EXPECT_DOUBLE_EQ(simulate(workload, machine(), slow).step_ns, workload.outside_ns() + 2e9);
}

TEST(Simulate, OperandsCountWhereTheyLieAsTheOpBegins) {
  // `outer` computes for 400 ms before `inner`: a weight that comes meanwhile comes too late.
  const Workload workload = make_workload(at_times(nested(), {0, 0, 10, 20, 20, 420, 421, 422, 500, 600}), {});
  tier::Machine moving = machine();
  moving.move_to_fast = moving.move_to_slow = 1e9;  // a millisecond
  Schedule schedule;
  schedule.pieces = {{.object = 0, .bytes = kBig, .begin = tier::Tier::slow}};
  const auto slow_bytes = [&](std::uint32_t at) {
    schedule.moves = {{.piece = 0, .to = tier::Tier::fast, .at = at, .due = 2},
                      {.piece = 0, .to = tier::Tier::slow, .at = 3, .due = 4}};
    return simulate(workload, moving, schedule).slow_bytes;
  };
  EXPECT_EQ(slow_bytes(0), 0) << "as `before` runs";
  EXPECT_EQ(slow_bytes(1), kBig) << "as `outer` runs";
}

TEST(Simulate, StepsAreScaledToAnUnprofiledIteration) {
  Script script;
  script.live(1, kBig).begin("op").operand(1, HEARTH_ACCESS_READ, kBig).end("op");
  const profile::Profile profile = profile_of(script);
  const Workload workload = make_workload(profile, {.step_ns = 5e6});
  EXPECT_NEAR(workload.outside_ns() + workload.ops[0].self_ns, 5e6, 1);
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

// Ten ops of a millisecond; object 0 is a resident that ops 0 and 9 read, object 1 lives from op 3 to op 5, which write
// it.
Workload ten() {
  Workload workload;
  for (std::uint32_t i = 0; i < 10; ++i) {
    Op op{.self_ns = 1e6, .first_use = static_cast<std::uint32_t>(workload.uses.size())};
    if (i == 0 || i == 9) workload.uses.push_back({.object = 0, .read = 4e6});
    if (i >= 3 && i <= 5) workload.uses.push_back({.object = 1, .write = 4e6});
    op.uses = static_cast<std::uint32_t>(workload.uses.size()) - op.first_use;
    workload.ops.push_back(op);
  }
  workload.objects = {{.bytes = 4'000'000, .resident = true, .alive = {{0, 4}}},
                      {.bytes = 4'000'000, .planned = true, .alive = {{1, 2}}, .birth_op = 3, .death_op = 5}};
  workload.period = 4;
  return workload;
}

tier::Machine mover() {
  tier::Machine m = machine();  // 4 MB: read in 0.4 ms fast, 2 ms slow; written in 0.8 ms fast, 4 ms slow
  m.move_to_fast = 2e9;         // 4 MB in 2 ms
  m.move_to_slow = 1e9;         // in 4 ms
  return m;
}

Schedule all_fast_of(const Workload& workload) {
  Schedule schedule;
  for (std::uint32_t i = 0; i < workload.objects.size(); ++i) {
    schedule.pieces.push_back({.object = i, .bytes = workload.objects[i].bytes, .begin = tier::Tier::fast});
  }
  return schedule;
}

TEST(Moves, AnEvictionAndAFetchInTimeCostNothing) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 1, .due = 5},
                    {.piece = 0, .to = tier::Tier::fast, .at = 6, .due = 9}};
  const Outcome outcome = simulate(workload, mover(), schedule);
  EXPECT_NEAR(outcome.step_ns, 10 * kMs, 1);
  EXPECT_EQ(outcome.late, 0u);
  EXPECT_NEAR(outcome.moved_to_slow, 4e6, 1);
  EXPECT_NEAR(outcome.moved_to_fast, 4e6, 1);
  EXPECT_LT(outcome.fast_average, 8e6);
}

TEST(Moves, WhatHasNotArrivedIsUsedWhereItIs) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.pieces[0].begin = tier::Tier::slow;
  schedule.moves = {{.piece = 0, .to = tier::Tier::fast, .at = 8, .due = 9},  // half of it is there by then
                    {.piece = 0, .to = tier::Tier::slow, .at = 10, .due = 10}};
  const Outcome outcome = simulate(workload, mover(), schedule);
  EXPECT_EQ(outcome.late, 2u);
  // Op 9 reads half of it slow; op 0 begins while it is still mostly fast.
  EXPECT_GT(outcome.step_ns, 10.1 * kMs);
  EXPECT_LT(outcome.step_ns, 11 * kMs);
  EXPECT_EQ(outcome.stall_ns, 0);
}

TEST(Moves, OneThatIsWaitedForStopsTheProgram) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 1, .due = 5},
                    {.piece = 0, .to = tier::Tier::fast, .at = 8, .due = 9, .wait = true}};
  const Outcome outcome = simulate(workload, mover(), schedule);
  EXPECT_NEAR(outcome.stall_ns, 1 * kMs, 0.2 * kMs);
  EXPECT_NEAR(outcome.step_ns, 10 * kMs + outcome.stall_ns, 1);
}

TEST(Moves, OneThatTakesLongIsWaitedForAllThatTime) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 1, .due = 1, .wait = true},
                    {.piece = 0, .to = tier::Tier::fast, .at = 8, .due = 8, .wait = true}};
  tier::Machine machine = mover();
  machine.move_to_fast /= 2000;
  machine.move_to_slow /= 2000;
  const Outcome outcome = simulate(workload, machine, schedule);
  const auto bytes = static_cast<double>(schedule.pieces[0].bytes);
  const double seconds = bytes / machine.move_to_fast + bytes / machine.move_to_slow;
  EXPECT_GT(seconds, 5);
  EXPECT_NEAR(outcome.stall_ns, seconds * 1e9, seconds * 1e9 * 0.01 + 1e9);
}

// What is waited for and finds no room does not come.
TEST(Moves, OneThatCannotBeIsNotWaitedForWithoutEnd) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.pieces[0].begin = tier::Tier::slow;
  schedule.capacity = 1;
  schedule.moves = {{.piece = 0, .to = tier::Tier::fast, .at = 8, .due = 8, .wait = true}};
  EXPECT_NEAR(simulate(workload, mover(), schedule).stall_ns, 2e9, 1e8);
}

TEST(Moves, WhatLeavesMakesRoomForWhatComes) {
  Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.capacity = 4e6;
  // The resident fills the fast tier: what is born then is slow, and pays for it.
  EXPECT_NEAR(simulate(workload, mover(), schedule).step_ns, 10 * kMs + 3 * 3 * kMs, 1);
  EXPECT_LE(simulate(workload, mover(), schedule).fast_peak, 4'000'000u);
  // It leaves in the first four milliseconds, of which one is too late for the birth at op 3, and comes back.
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 0, .due = 4},
                    {.piece = 0, .to = tier::Tier::fast, .at = 6, .due = 9}};
  const Outcome outcome = simulate(workload, mover(), schedule);
  EXPECT_LT(outcome.step_ns, 14 * kMs);
  EXPECT_LE(outcome.fast_peak, 4'000'000u);
}

TEST(Moves, TheMostUrgentGoesFirst) {
  Workload workload = ten();
  workload.objects.push_back(workload.objects[0]);
  Schedule schedule = all_fast_of(workload);
  schedule.pieces[0].begin = schedule.pieces[2].begin = tier::Tier::slow;
  // Both are asked for at once; the second is due first, and only it is in time.
  schedule.moves = {{.piece = 2, .to = tier::Tier::fast, .at = 6, .due = 10},
                    {.piece = 0, .to = tier::Tier::fast, .at = 6, .due = 9},
                    {.piece = 0, .to = tier::Tier::slow, .at = 10, .due = 10},
                    {.piece = 2, .to = tier::Tier::slow, .at = 10, .due = 10}};
  tier::Machine machine = mover();
  machine.move_to_slow = 4e9;  // both have left before they are fetched again
  const Outcome outcome = simulate(workload, machine, schedule);
  const Outcome first_come = [&] {
    Schedule other = schedule;
    other.moves[0].due = 8;
    return simulate(workload, machine, other);
  }();
  EXPECT_LT(outcome.slow_bytes, first_come.slow_bytes);
}

// A fetch that has not come by the time of the next eviction is given up: the lane is free for others.
TEST(Moves, ALateOneIsGivenUpWhenThePieceIsWantedElsewhere) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  tier::Machine slow = mover();
  slow.move_to_fast = 0.2e9;  // 4 MB in 20 ms
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 1, .due = 5},
                    {.piece = 0, .to = tier::Tier::fast, .at = 6, .due = 9}};
  const Outcome outcome = simulate(workload, slow, schedule);
  EXPECT_EQ(outcome.late, 1u);
  EXPECT_LT(outcome.moved_to_fast, 2e6);
  EXPECT_NEAR(outcome.moved_to_slow, outcome.moved_to_fast, 4096);
}

// What was only read since it was fetched leaves at once, if the machine keeps a copy of it.
TEST(Moves, CleanOnesTakeNoTimeWhereCopiesAreKept) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 1, .due = 5, .clean = true},
                    {.piece = 0, .to = tier::Tier::fast, .at = 6, .due = 9}};
  tier::Machine keeps = mover();
  keeps.keeps_copies = true;
  const Outcome dropped = simulate(workload, keeps, schedule);
  const Outcome copied = simulate(workload, mover(), schedule);
  EXPECT_EQ(dropped.moved_to_slow, 0);
  EXPECT_NEAR(dropped.moved_to_fast, 4e6, 1);
  EXPECT_NEAR(copied.moved_to_slow, 4e6, 1);
  EXPECT_LT(dropped.fast_average, copied.fast_average);
  EXPECT_NEAR(dropped.step_ns, 10 * kMs, 1);
}

TEST(Moves, ThePoolIsTakenAllTheTime) {
  const Workload workload = ten();
  Schedule schedule = all_fast_of(workload);
  schedule.capacity = 8e6;
  schedule.pool = 4e6;
  schedule.pieces[1].pooled = true;
  const Outcome outcome = simulate(workload, mover(), schedule);
  EXPECT_NEAR(outcome.step_ns, 10 * kMs, 1);
  EXPECT_EQ(outcome.fast_peak, 8'000'000u);
  EXPECT_NEAR(outcome.fast_average, 8e6, 1);
}

TEST(Moves, BesideMovesOpsThatAreBoundByMemoryTakeLonger) {
  Workload workload = ten();
  for (Op& op : workload.ops) op.self_ns = 0;
  Schedule schedule = all_fast_of(workload);
  tier::Machine machine = mover();
  machine.interference = 0.5;
  const double alone = simulate(workload, machine, schedule).step_ns;
  schedule.moves = {{.piece = 0, .to = tier::Tier::slow, .at = 1, .due = 3},
                    {.piece = 0, .to = tier::Tier::fast, .at = 5, .due = 9}};
  EXPECT_GT(simulate(workload, machine, schedule).step_ns, alone * 1.1);
}

}  // namespace
}  // namespace hearth::simulate
