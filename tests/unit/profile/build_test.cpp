// build(): every way in which events may not fit together, and how they are credited.
#include "profile/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "unit/profile/events.h"

namespace hearth::profile {
namespace {

using test::op;
using test::Script;
using test::tensor;

TEST(Build, NothingGivesAnEmptyProfile) {
  const Profile profile = build({}, {});
  EXPECT_TRUE(profile.ops.empty());
  EXPECT_TRUE(profile.timeline.empty());
  EXPECT_EQ(profile.names.size(), 1u);
}

TEST(Build, ThreadsHaveStacksOfTheirOwn) {
  Script script;
  script.begin("main").on(1).begin("other").alloc(1, 64).on(0).alloc(2, 64).end("main").on(1).free(1).end("other");
  const Profile profile = script.build();
  EXPECT_EQ(op(profile, "other").parent, kNone);
  EXPECT_EQ(tensor(profile, 1).born, 1u);
  EXPECT_EQ(tensor(profile, 2).born, 0u);
  EXPECT_TRUE(tensor(profile, 1).scratch);
  EXPECT_EQ(tensor(profile, 1).born_thread, 1u);
  EXPECT_EQ(tensor(profile, 2).born_thread, 0u);
  EXPECT_EQ(profile.threads, 2u);
  EXPECT_THAT(profile.outermost, testing::ElementsAre(0)) << "positions count the main thread's ops";
}

TEST(Build, AnEndClosesWhatNeverEndedAboveIt) {
  Script script;
  script.begin("a").begin("lost").end("a").alloc(1, 8);
  const Profile profile = script.build();
  EXPECT_EQ(profile.anomalies.unclosed_ops, 1u);
  EXPECT_EQ(profile.anomalies.unmatched_ends, 0u);
  EXPECT_EQ(tensor(profile, 1).born, kOutside);
}

TEST(Build, AnEndWithoutBeginIsCountedOnly) {
  Script script;
  script.end("closing the last iteration").begin("a").end("b").alloc(1, 8).end("a");
  const Profile profile = script.build();
  EXPECT_EQ(profile.anomalies.unmatched_ends, 2u);
  EXPECT_EQ(tensor(profile, 1).born, 0u) << "a is still open";
}

TEST(Build, AnEndWithoutNameClosesTheInnermost) {
  Script script;
  script.begin("a").begin("b").end("").alloc(1, 8);
  EXPECT_EQ(tensor(script.build(), 1).born, 0u);
}

TEST(Build, AllocationsOutsideOpsAndLaterFreesArePlacedByPosition) {
  Script script;
  script.op("a").alloc(1, 100).op("b").begin("c").free(1).end("c").alloc(2, 1).free(2);
  const Profile profile = script.build();
  EXPECT_EQ(tensor(profile, 1).born, kOutside);
  EXPECT_EQ(tensor(profile, 1).born_position, 1u);
  EXPECT_EQ(tensor(profile, 1).dies, 2u);
  EXPECT_EQ(tensor(profile, 1).dies_position, 3u);
  EXPECT_FALSE(tensor(profile, 2).scratch) << "outside is no op";
  EXPECT_EQ(profile.outside_bytes, 101u);
  EXPECT_EQ(profile.attributed_bytes, 0u);
}

TEST(Build, FreesOfUnknownTensorsAndSecondFreesAreCounted) {
  Script script;
  script.free(7).alloc(1, 10).free(1).free(1).operand(9, HEARTH_ACCESS_READ, 8).guard(9).alloc(1, 10);
  const Profile profile = script.build();
  EXPECT_EQ(profile.anomalies.unmatched_frees, 2u);
  EXPECT_EQ(profile.anomalies.unknown_tensors, 2u);
  EXPECT_EQ(profile.anomalies.duplicate_births, 1u);
  EXPECT_EQ(profile.peak_bytes, 10u);
}

TEST(Build, DroppedEventsMakeItIncomplete) {
  EXPECT_TRUE(Script().op("a").build().complete());
  EXPECT_FALSE(Script().op("a").build({}, 1).complete());
}

TEST(Build, FaultsGoToTheThreadsOwnOpElseToTheMainThreads) {
  Script script;
  script.live(1, 1 << 20).begin("main");
  script.on(2).fault(1, HEARTH_ACCESS_READ, 1);                          // OpenMP worker
  script.on(3).begin("own").fault(1, HEARTH_ACCESS_READ, 2).end("own");  // another Python thread
  script.on(0).end("main").fault(1, HEARTH_ACCESS_READ, 3);              // between ops
  const Profile profile = script.build();
  const auto& accesses = tensor(profile, 1).accesses;
  ASSERT_EQ(accesses.size(), 3u);
  EXPECT_EQ(profile.names[profile.ops[accesses[0].op].name], "main");
  EXPECT_EQ(accesses[0].flags, kOtherThread);
  EXPECT_EQ(profile.names[profile.ops[accesses[1].op].name], "own");
  EXPECT_EQ(accesses[1].flags, 0);
  EXPECT_EQ(accesses[2].op, kOutside);
}

TEST(Build, SamplesBelongToTheOpThatWasOpenAtTheirTime) {
  Script script;
  script.live(1, 8192).live(2, 8192).live(3, 8192).begin("outer").begin("inner");
  script.sample(1).sample(2, 3).sample(3, 5).end("inner").end("outer");
  const Profile profile = script.build();
  EXPECT_EQ(profile.names[profile.ops[tensor(profile, 1).accesses[0].op].name], "inner");
  EXPECT_EQ(profile.names[profile.ops[tensor(profile, 2).accesses[0].op].name], "outer");
  EXPECT_EQ(tensor(profile, 3).accesses[0].op, kOutside);
}

TEST(Build, UsesOfOnePairAreMerged) {
  Script script;
  script.live(1, 8192).begin("a");
  script.operand(1, HEARTH_ACCESS_READ, 100, HEARTH_EVENT_FLAG_VIEW).operand(1, HEARTH_ACCESS_WRITE, 4000);
  script.fault(1, HEARTH_ACCESS_READ, 0).fault(1, HEARTH_ACCESS_WRITE, 0).fault(1, HEARTH_ACCESS_WRITE, 1);
  script.end("a");
  const Profile profile = script.build();
  ASSERT_EQ(tensor(profile, 1).accesses.size(), 1u);
  const Access& access = tensor(profile, 1).accesses[0];
  EXPECT_EQ(access.operand, HEARTH_ACCESS_READ_WRITE);
  EXPECT_EQ(access.kind, HEARTH_ACCESS_READ_WRITE);
  EXPECT_EQ(access.bytes, 4000u);
  EXPECT_EQ(access.operands, 2u);
  EXPECT_EQ(access.faults, 3u);
  EXPECT_EQ(access.pages, 2u);
  EXPECT_EQ(access.flags, 0) << "one of the operands was the whole tensor";
}

TEST(Build, AnOuterAnnouncementIsCoveredUnlessItTouchesItself) {
  Script script;
  script.live(1, 64).live(2, 64).begin("outer").operand(1, HEARTH_ACCESS_READ, 64).operand(2, HEARTH_ACCESS_READ, 64);
  script.begin("inner").operand(1, HEARTH_ACCESS_READ, 64).operand(2, HEARTH_ACCESS_READ, 64).end("inner");
  script.fault(2, HEARTH_ACCESS_READ).end("outer").begin("next").operand(1, HEARTH_ACCESS_READ, 64).end("next");
  const Profile profile = script.build();
  EXPECT_EQ(tensor(profile, 1).accesses[0].flags, kCovered);
  EXPECT_EQ(tensor(profile, 1).accesses[1].flags, 0);
  EXPECT_EQ(tensor(profile, 1).accesses[2].flags, 0);
  EXPECT_EQ(tensor(profile, 2).accesses[0].flags, kHandedOn);
  EXPECT_EQ(tensor(profile, 2).accesses[1].flags, 0);
}

TEST(Build, WhatANestedOpTouchesUnannouncedIsNotHandedOn) {
  Script script;
  script.live(1, 64).begin("outer").operand(1, HEARTH_ACCESS_READ, 64).fault(1, HEARTH_ACCESS_READ);
  script.begin("inner").sample(1).end("inner").end("outer");
  EXPECT_EQ(tensor(script.build(), 1).accesses[0].flags, 0);
}

TEST(Build, BackwardOpsBelongToTheirForwardOpsModule) {
  Script script;
  script.enter("net").enter("net.fc");
  script.begin("aten::t", kScopeFunction, 3).end("aten::t");  // asks for 3 and makes a node of it
  script.begin("aten::addmm", kScopeFunction, 4).end("aten::addmm");
  script.exit("net.fc").begin("aten::sum", kScopeFunction, 5).end("aten::sum").exit("net");
  script.begin("autograd::engine::evaluate_function: AddmmBackward0").begin("AddmmBackward0", kScopeBackward, 4);
  script.op("aten::mm").end("AddmmBackward0").end("autograd::engine::evaluate_function: AddmmBackward0");
  script.begin("SumBackward0", kScopeBackward, 5).end("SumBackward0");
  script.begin("AccumulateGrad", kScopeBackward, -1).end("AccumulateGrad");
  const Profile profile = script.build();
  const auto module_of = [&](const char* name) { return profile.names[op(profile, name).module]; };
  EXPECT_EQ(module_of("aten::addmm"), "net.fc");
  EXPECT_EQ(module_of("aten::sum"), "net");
  EXPECT_EQ(module_of("autograd::engine::evaluate_function: AddmmBackward0"), "net.fc");
  EXPECT_EQ(module_of("AddmmBackward0"), "net.fc");
  EXPECT_EQ(module_of("aten::mm"), "net.fc");
  EXPECT_EQ(module_of("SumBackward0"), "net");
  EXPECT_EQ(module_of("AccumulateGrad"), "");
}

TEST(Build, RecomputationUnderACheckpointOpensModulesOfItsOwn) {
  Script script;
  script.enter("net").begin("aten::f", kScopeFunction, 1).end("aten::f").exit("net");
  script.begin("CheckpointBackward", kScopeBackward, 1).op("aten::detach").enter("net.block").op("aten::g");
  script.exit("net.block").end("CheckpointBackward");
  const Profile profile = script.build();
  EXPECT_EQ(profile.names[op(profile, "aten::detach").module], "net");
  EXPECT_EQ(profile.names[op(profile, "aten::g").module], "net.block");
}

TEST(Build, TurnsFollowForwardPassesNotBackwardHooks) {
  Script script;
  const auto forward = [&](std::int64_t node) { script.begin("aten::f", kScopeFunction, node).end("aten::f"); };
  const auto backward = [&] { script.begin("FBackward0", kScopeBackward, 1).end("FBackward0"); };
  forward(1);
  backward();
  forward(1);  // a hook's op: no node was made since the turn
  backward();
  forward(2);  // second pass of an accumulation
  backward();
  EXPECT_THAT(script.build().turns, testing::ElementsAre(1, 5));
}

TEST(Build, AUserScopeAroundTheStepIsLookedThrough) {
  Script script;
  script.begin("ProfilerStep#3", kScopeUser).op("aten::a").begin("aten::b").op("aten::c").end("aten::b");
  script.end("ProfilerStep#3");
  const Profile profile = script.build();
  EXPECT_THAT(profile.outermost, testing::ElementsAre(1, 2));
  EXPECT_EQ(op(profile, "aten::c").outer, 2u);
}

TEST(Build, TheTimelineIsThinnedAndKeepsThePeak) {
  Script script;
  for (std::uint32_t i = 1; i <= 5000; ++i) {
    script.alloc(i, i == 3333 ? 1'000'000 : 10);
    if (i == 3333) script.free(i);
  }
  const Profile profile = script.build();
  EXPECT_LE(profile.timeline.size(), 1000u);
  EXPECT_GT(profile.timeline.size(), 500u);
  EXPECT_EQ(profile.peak_bytes, 3332u * 10 + 1'000'000);
  std::uint64_t highest = 0, before = 0;
  for (const Point& point : profile.timeline) {
    EXPECT_LE(before, point.time_ns);
    before = point.time_ns;
    highest = std::max(highest, point.live_bytes);
  }
  EXPECT_EQ(highest, profile.peak_bytes);
  EXPECT_EQ(profile.timeline.back().live_bytes, 4999u * 10);
}

TEST(Build, TheIterationBeginsWhenWhatIsAliveHasBeenListed) {
  Script script;
  for (std::uint32_t i = 1; i <= 100; ++i) script.live(i, 8).guard(i);
  script.op("a");
  EXPECT_EQ(script.build().ops[0].begin_ns, 0u);
  EXPECT_EQ(script.build().duration_ns, 10u);
}

TEST(Build, TimeStampsOutOfOrderNeverRunBackwards) {
  Script script;
  script.op("a").op("b");
  std::vector<hearth_event> events = script.events();
  std::swap(events[1].time_ns, events[2].time_ns);
  events[3].time_ns = 0;
  for (const Op& each : build(events, script.names()).ops) EXPECT_LE(each.begin_ns, each.end_ns);
}

// A million events of a plausible mix, and as many of a damaged one. "Well under a second" on an idle machine; the
// bound here only catches a change of order.
TEST(Build, AMillionEventsTakeLinearTime) {
  Script script;
  for (std::uint32_t i = 1; i <= 100; ++i) script.live(i, 4096);
  for (std::uint32_t i = 101; script.events().size() < 1'000'000; ++i) {
    script.begin("outer").operand(i % 100 + 1, HEARTH_ACCESS_READ, 4096).begin("inner").alloc(i, 4096);
    script.operand(i % 100 + 1, HEARTH_ACCESS_READ, 4096).fault(i, HEARTH_ACCESS_WRITE).end("inner").end("outer");
    script.free(i);
  }
  const auto start = std::chrono::steady_clock::now();
  const Profile profile = script.build();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1000));
  std::printf("[ figure   ] %zu events in %.0f ms\n", script.events().size(), seconds.count() * 1000);
  EXPECT_GT(profile.tensors.size(), 100'000u);
  EXPECT_LT(seconds.count(), 20);
}

TEST(Build, DeepNestingAndEndsThatMatchNothingTakeLinearTime) {
  Script script;
  script.live(1, 4096);
  for (int i = 0; i < 200'000; ++i) script.begin("a").operand(1, HEARTH_ACCESS_READ, 8);
  for (int i = 0; i < 200'000; ++i) script.end("never begun");
  const auto start = std::chrono::steady_clock::now();
  const Profile profile = script.build();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(profile.anomalies.unmatched_ends, 200'000u);
  EXPECT_EQ(profile.anomalies.unclosed_ops, 200'000u);
  EXPECT_LT(seconds.count(), 20);
}

}  // namespace
}  // namespace hearth::profile
