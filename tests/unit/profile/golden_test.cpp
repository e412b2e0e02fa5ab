// The golden trace (tests/data/make_trace.py, written by an independent implementation of the format) through reader,
// build, classes and agreement. The expectations are worked out by hand in the script's comments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "profile/agreement.h"
#include "profile/build.h"
#include "profile/classes.h"
#include "profile/trace_file.h"
#include "unit/profile/events.h"

namespace hearth::profile {
namespace {

using test::op;
using test::tensor;

std::string golden_path() {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind("/unit/")) + "/data/small.trace";
}

class Golden : public testing::Test {
 protected:
  void SetUp() override {
    Result<Trace> read = read_trace(golden_path());
    ASSERT_TRUE(read) << read.error();
    trace = *std::move(read);
    profile = build(trace.events, trace.names, trace.info.thresholds, trace.dropped);
  }
  Trace trace;
  Profile profile;
};

TEST_F(Golden, SaysWhereItComesFrom) {
  EXPECT_EQ(trace.info.pid, 4711u);
  EXPECT_EQ(trace.info.torch_version, "2.13.0");
  EXPECT_EQ(trace.info.command, "python train.py --name \"caf\u00e9\"");
  EXPECT_EQ(trace.info.mode, "faults");
  EXPECT_EQ(trace.info.iteration, 3u);
  EXPECT_EQ(trace.info.unix_ns, 1700000000000000000u);
  EXPECT_EQ(trace.info.thresholds.short_ops, 64u);
}

TEST_F(Golden, OpsNestAndBelongToModules) {
  ASSERT_EQ(profile.ops.size(), 10u);
  EXPECT_EQ(profile.names[profile.ops[2].name], "aten::addmm");
  EXPECT_EQ(profile.ops[2].parent, 1u);
  EXPECT_EQ(profile.ops[2].outer, 1u);
  EXPECT_EQ(profile.names[profile.ops[2].module], "a");
  EXPECT_EQ(profile.names[profile.ops[3].module], "b");
  EXPECT_EQ(profile.ops[4].module, 0u);
  for (const std::uint32_t backward : {5u, 6u, 7u}) EXPECT_EQ(profile.names[profile.ops[backward].module], "a");
  EXPECT_EQ(profile.ops[8].outer, kNone) << "a user scope is looked through";
  EXPECT_EQ(profile.ops[9].outer, 9u);
  EXPECT_THAT(profile.outermost, testing::ElementsAre(1, 3, 4, 5, 9));
  EXPECT_THAT(profile.turns, testing::ElementsAre(3));
}

TEST_F(Golden, TimesAddUp) {
  const Op& linear = profile.ops[1];
  const Op& addmm = profile.ops[2];
  EXPECT_EQ(addmm.end_ns - addmm.begin_ns, 11 * 100u + 1000u) << "eleven events and its own end";
  EXPECT_EQ(addmm.self_ns, addmm.end_ns - addmm.begin_ns);
  EXPECT_EQ(linear.self_ns, (linear.end_ns - linear.begin_ns) - (addmm.end_ns - addmm.begin_ns));
}

TEST_F(Golden, Lifetimes) {
  EXPECT_EQ(tensor(profile, 1).lifetime, Lifetime::persistent);
  EXPECT_EQ(tensor(profile, 1).born, kBefore);
  EXPECT_EQ(tensor(profile, 1).dies, kAfter);
  EXPECT_EQ(tensor(profile, 3).dies, 0u);
  EXPECT_EQ(tensor(profile, 4).born, 2u);
  EXPECT_EQ(tensor(profile, 4).dies, 5u) << "freed by the engine's scope";
  EXPECT_EQ(tensor(profile, 4).nth, 1u);
  EXPECT_EQ(profile.names[tensor(profile, 4).module], "a");
  EXPECT_EQ(tensor(profile, 4).lifetime, Lifetime::activation);
  EXPECT_TRUE(tensor(profile, 5).scratch);
  EXPECT_EQ(tensor(profile, 5).lifetime, Lifetime::short_lived);
  EXPECT_EQ(tensor(profile, 6).lifetime, Lifetime::short_lived);
  EXPECT_EQ(tensor(profile, 7).lifetime, Lifetime::persistent);
  EXPECT_EQ(tensor(profile, 8).born, kOutside);
  EXPECT_EQ(tensor(profile, 8).dies, kOutside);
  EXPECT_EQ(tensor(profile, 8).born_position, 3u);
}

TEST_F(Golden, BytesAddUp) {
  EXPECT_EQ(profile.attributed_bytes, 512u + 2048u + 256u + 4096u);
  EXPECT_EQ(profile.outside_bytes, 64u);
  // After zero_grad 12288 bytes stay; a's output, and the gradient, on top.
  EXPECT_EQ(profile.peak_bytes, 4096u + 8192u + 2048u + 4096u);
  EXPECT_EQ(profile.peak_op, 7u);
  EXPECT_EQ(profile.timeline.front().live_bytes, 4096u + 8192u + 1024u);
  EXPECT_EQ(profile.timeline.back().live_bytes, 4096u + 8192u + 4096u);
}

TEST_F(Golden, AccessesAreMergedPerOp) {
  const Tensor& weight = tensor(profile, 1);
  ASSERT_EQ(weight.accesses.size(), 3u);
  EXPECT_EQ(weight.accesses[0].op, 1u);
  EXPECT_EQ(weight.accesses[0].flags, kCovered);
  EXPECT_EQ(weight.accesses[1].op, 2u);
  EXPECT_EQ(weight.accesses[1].operand, HEARTH_ACCESS_READ);
  EXPECT_EQ(weight.accesses[1].faults, 1u);
  EXPECT_EQ(weight.accesses[2].op, 9u);
  EXPECT_EQ(weight.accesses[2].fault, HEARTH_ACCESS_READ_WRITE);
  EXPECT_EQ(weight.accesses[2].faults, 2u);
  EXPECT_DOUBLE_EQ(touches_per_byte(weight), 3.0) << "read once, then read and written";
  EXPECT_EQ(weight.frequency, 2);
  const Tensor& scratch = tensor(profile, 5);
  ASSERT_EQ(scratch.accesses.size(), 1u);
  EXPECT_EQ(scratch.accesses[0].op, 2u);
  EXPECT_EQ(scratch.accesses[0].flags, kOtherThread) << "a worker's fault belongs to the main thread's op";
}

TEST_F(Golden, FaultsAndOperandsAgreeAsFarAsTheyCan) {
  const Agreement agreement = compare(profile);
  EXPECT_EQ(agreement.watched, 7u);
  EXPECT_EQ(agreement.innermost.confirmed_operands, 9u);
  EXPECT_EQ(agreement.innermost.confirmed_faults, 9u);
  EXPECT_EQ(agreement.confirmed_same_op, 9u);
  EXPECT_EQ(agreement.innermost.faults_only, 1u);
  EXPECT_EQ(agreement.innermost.operands_only, 1u);
  EXPECT_EQ(agreement.reasons[static_cast<std::size_t>(Reason::scratch)].pairs, 1u);
  EXPECT_EQ(agreement.reasons[static_cast<std::size_t>(Reason::scratch)].bytes, 512u);
  EXPECT_EQ(agreement.reasons[static_cast<std::size_t>(Reason::partial_view)].pairs, 1u);
  EXPECT_DOUBLE_EQ(agreement.innermost.precision(), 1.0);
  EXPECT_DOUBLE_EQ(agreement.innermost.precision(true), 0.9);
  EXPECT_DOUBLE_EQ(agreement.innermost.recall(), 0.9);
  EXPECT_EQ(agreement.kinds.same, 9u);
}

TEST_F(Golden, WhatDoesNotFitIsCounted) {
  EXPECT_EQ(profile.anomalies.unmatched_frees, 1u);
  EXPECT_EQ(profile.anomalies.unmatched_ends, 1u) << "the scope in which the iteration was closed";
  EXPECT_EQ(profile.anomalies.unclosed_ops, 1u) << "and the one in which this one ends";
  EXPECT_EQ(profile.anomalies.unknown_tensors, 0u);
  EXPECT_TRUE(profile.complete());
  EXPECT_EQ(profile.threads, 2u);
}

}  // namespace
}  // namespace hearth::profile
