// One test per reason for which faults and operands may disagree, and the rules of who confirms whom.
#include "profile/agreement.h"

#include <gtest/gtest.h>

#include "profile/op_kinds.h"
#include "unit/profile/events.h"

namespace hearth::profile {
namespace {

using test::Script;
constexpr auto kRead = HEARTH_ACCESS_READ;
constexpr auto kWrite = HEARTH_ACCESS_WRITE;
constexpr auto kReadWrite = HEARTH_ACCESS_READ_WRITE;

Agreement compared(const Script& script) { return compare(script.build()); }

std::uint64_t pairs(const Agreement& agreement, Reason reason) {
  return agreement.reasons[static_cast<std::size_t>(reason)].pairs;
}

Script watched() { return Script().live(1, 8192).guard(1).op("aten::before"); }

TEST(Agreement, NothingWatchedIsNothingCompared) {
  Script script;
  script.live(1, 64).begin("a").operand(1, kRead, 64).end("a");
  EXPECT_EQ(compared(script).watched, 0u);
  EXPECT_DOUBLE_EQ(compared(script).innermost.recall(), 1);
}

TEST(Agreement, AFaultInANestedOpConfirmsTheOuterOperand) {
  Script script = watched();
  script.begin("aten::linear").operand(1, kRead, 8192).begin("aten::addmm").fault(1, kRead).end("aten::addmm");
  script.end("aten::linear");
  const Agreement agreement = compared(script);
  EXPECT_EQ(agreement.confirmed_nested, 1u);
  EXPECT_EQ(agreement.innermost.confirmed_faults, 1u);
  EXPECT_EQ(agreement.innermost.operands_only + agreement.innermost.faults_only, 0u);
}

TEST(Agreement, OnlyTheInnermostAnnouncementIsCompared) {
  Script script = watched();
  script.begin("aten::linear").operand(1, kRead, 8192).begin("aten::addmm").operand(1, kRead, 8192);
  script.fault(1, kRead).end("aten::addmm").end("aten::linear");
  const Agreement agreement = compared(script);
  EXPECT_EQ(agreement.innermost.confirmed_operands, 1u);
  EXPECT_EQ(agreement.outermost.confirmed_operands, 1u);
}

TEST(Agreement, AFaultInASiblingConfirmsPerOutermostOpOnly) {
  Script script = watched();
  script.begin("aten::f").begin("aten::g").operand(1, kRead, 8192).end("aten::g").begin("aten::h").fault(1, kRead);
  script.end("aten::h").end("aten::f");
  const Agreement agreement = compared(script);
  EXPECT_EQ(agreement.innermost.confirmed_faults, 0u);
  EXPECT_EQ(pairs(agreement, Reason::not_an_operand), 1u);
  EXPECT_EQ(pairs(agreement, Reason::no_fault), 1u);
  EXPECT_EQ(agreement.outermost.confirmed_faults, 1u);
  EXPECT_DOUBLE_EQ(agreement.innermost.precision(), 0);
  EXPECT_DOUBLE_EQ(agreement.outermost.precision(), 1);
}

TEST(Agreement, ScratchIsByDesign) {
  Script script;
  script.begin("aten::conv2d")
      .begin("aten::mkldnn_convolution")
      .alloc(1, 8192)
      .guard(1)
      .end("aten::mkldnn_convolution");
  script.fault(1, kWrite).free(1).end("aten::conv2d");
  const Agreement agreement = compared(script);
  EXPECT_EQ(pairs(agreement, Reason::scratch), 1u) << "born and freed inside one outermost op, in different inner ones";
  EXPECT_EQ(agreement.innermost.faults_only_by_design, 1u);
  EXPECT_EQ(agreement.outermost.faults_only_by_design, 1u);
  EXPECT_DOUBLE_EQ(agreement.innermost.precision(), 1);
  EXPECT_DOUBLE_EQ(agreement.innermost.precision(true), 0);
}

TEST(Agreement, ABufferThatNoComputingOpNamesIsInternal) {
  Script script;
  script.begin("aten::f").begin("aten::empty").alloc(1, 8192).guard(1).operand(1, kWrite, 8192).end("aten::empty");
  script.fault(1, kWrite).end("aten::f").begin("aten::g").fault(1, kRead).end("aten::g").free(1);
  const Agreement agreement = compared(script);
  EXPECT_EQ(pairs(agreement, Reason::never_announced), 2u);
  EXPECT_EQ(pairs(agreement, Reason::metadata_only), 1u) << "aten::empty announces what it does not touch";
  EXPECT_DOUBLE_EQ(agreement.innermost.recall(), 1);
}

TEST(Agreement, TouchesBetweenOpsAreByDesign) {
  Script script = watched();
  script.fault(1, kRead).begin("Optimizer.step#X", kScopeUser).fault(1, kWrite).end("Optimizer.step#X");
  const Agreement agreement = compared(script);
  EXPECT_EQ(pairs(agreement, Reason::outside_any_op), 2u);
}

TEST(Agreement, ThreadsExplainThemselves) {
  Script script = watched();
  script.begin("aten::known").operand(1, kRead, 8192).fault(1, kRead).end("aten::known");
  script.begin("aten::next").on(5).fault(1, kRead).on(0).end("aten::next");
  script.on(6).begin("aten::side").fault(1, kRead).end("aten::side");
  script.begin("aten::quiet").operand(1, kRead, 8192).end("aten::quiet");
  const Agreement agreement = compared(script);
  EXPECT_EQ(pairs(agreement, Reason::worker_thread), 1u);
  EXPECT_EQ(pairs(agreement, Reason::other_thread_op), 1u);
  EXPECT_EQ(pairs(agreement, Reason::other_thread_operand), 1u);
}

struct QuietOperand {
  const char* name;
  const char* op;
  std::uint8_t scope;
  std::uint64_t bytes;
  std::uint8_t flags;
  Reason reason;
};

class AnnouncedWithoutFault : public testing::TestWithParam<QuietOperand> {};

TEST_P(AnnouncedWithoutFault, HasAReason) {
  const QuietOperand& given = GetParam();
  Script script = watched();
  script.begin(given.op, given.scope).operand(1, kRead, given.bytes, given.flags).end(given.op);
  const Agreement agreement = compared(script);
  EXPECT_EQ(pairs(agreement, given.reason), 1u);
  EXPECT_EQ(agreement.innermost.operands_only, 1u);
  EXPECT_EQ(agreement.innermost.operands_only_by_design, by_design(given.reason) ? 1u : 0u);
  ASSERT_EQ(agreement.examples.size(), 1u);
  EXPECT_EQ(agreement.examples[0].reason, given.reason);
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, AnnouncedWithoutFault,
    testing::Values(QuietOperand{"empty", "aten::add", 0, 0, 0, Reason::empty_operand},
                    QuietOperand{"metadata", "aten::transpose", 0, 8192, 0, Reason::metadata_only},
                    QuietOperand{"node", "AddBackward0", kScopeBackward, 8192, 0, Reason::passed_through},
                    QuietOperand{"engine", "autograd::engine::evaluate_function: X", 0, 8192, 0,
                                 Reason::passed_through},
                    QuietOperand{"view", "aten::add", 0, 64, HEARTH_EVENT_FLAG_VIEW, Reason::partial_view},
                    QuietOperand{"sparse", "aten::embedding", 0, 8192, 0, Reason::sparse_access},
                    QuietOperand{"other", "aten::add", 0, 8192, 0, Reason::no_fault}),
    [](const auto& given) { return std::string(given.param.name); });

TEST(Agreement, APageOpenedEarlierInTheOutermostOpShowsNoSecondFault) {
  Script script = watched();
  script.begin("aten::f").begin("aten::g").operand(1, kRead, 8192).fault(1, kRead).end("aten::g");
  script.begin("aten::h").operand(1, kRead, 8192).end("aten::h").end("aten::f");
  const Agreement agreement = compared(script);
  EXPECT_EQ(pairs(agreement, Reason::opened_earlier), 1u);
  EXPECT_EQ(agreement.outermost.operands_only, 0u);
}

TEST(Agreement, FreedInsideTheOp) {
  Script script = watched();
  script.begin("aten::f").operand(1, kRead, 8192).free(1).end("aten::f");
  EXPECT_EQ(pairs(compared(script), Reason::freed_in_op), 1u);
}

TEST(Agreement, KindsAreComparedWhereThePairIsConfirmed) {
  Script script = watched();
  const auto both = [&](std::uint8_t announced, std::initializer_list<std::uint8_t> faults) {
    script.begin("aten::x").operand(1, announced, 8192);
    for (const std::uint8_t fault : faults) script.fault(1, fault);
    script.end("aten::x");
  };
  both(kRead, {kRead});
  both(kReadWrite, {kRead, kWrite});
  both(kReadWrite, {kWrite});
  both(kWrite, {kRead, kWrite});
  both(kReadWrite, {kRead});
  both(kRead, {kWrite});
  both(HEARTH_ACCESS_UNKNOWN, {kWrite});
  const Kinds kinds = compared(script).kinds;
  EXPECT_EQ(kinds.same, 2u);
  EXPECT_EQ(kinds.read_hidden_by_write, 1u);
  EXPECT_EQ(kinds.read_before_write, 1u);
  EXPECT_EQ(kinds.write_missing, 1u);
  EXPECT_EQ(kinds.write_unannounced, 1u);
}

TEST(Agreement, EveryReasonHasANameAndASentence) {
  for (std::size_t i = 0; i < kReasons; ++i) {
    EXPECT_STRNE(reason_name(static_cast<Reason>(i)), "");
    EXPECT_STRNE(reason_text(static_cast<Reason>(i)), "");
  }
  EXPECT_STREQ(reason_name(Reason::no_fault), "no_fault");
  EXPECT_STREQ(reason_name(Reason::not_an_operand), "not_an_operand");
  EXPECT_STREQ(reason_name(Reason::empty_operand), "empty_operand");
}

TEST(OpKinds, TheMakerIsTheFirstOpThatComputes) {
  Script script;
  script.begin("step", kScopeUser).begin("aten::relu").begin("aten::empty_like").begin("aten::empty").alloc(1, 8);
  script.end("aten::empty").end("aten::empty_like").end("aten::relu").begin("aten::empty").alloc(2, 8);
  script.end("aten::empty").end("step").alloc(3, 8);
  const Profile profile = script.build();
  EXPECT_EQ(making_op(profile, profile.tensors[0]), 1u);
  EXPECT_EQ(making_op(profile, profile.tensors[1]), 4u) << "not the user's scope";
  EXPECT_EQ(making_op(profile, profile.tensors[2]), kOutside);
}

TEST(OpKinds, KnowTheDispatchersNamesOnly) {
  EXPECT_TRUE(is_metadata_op("aten::_reshape_alias"));
  EXPECT_TRUE(is_metadata_op("aten::view"));
  EXPECT_TRUE(is_metadata_op("aten::_nnz"));
  EXPECT_FALSE(is_metadata_op("view"));
  EXPECT_FALSE(is_metadata_op("aten::add"));
  EXPECT_TRUE(is_sparse_op("aten::index_select"));
  EXPECT_FALSE(is_sparse_op("aten::mm"));
}

}  // namespace
}  // namespace hearth::profile
