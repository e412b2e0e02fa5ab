// Lifetimes and frequency buckets at their edges, and the sums per class.
#include "profile/classes.h"

#include <gtest/gtest.h>

#include "unit/profile/events.h"

namespace hearth::profile {
namespace {

using test::Script;
using test::tensor;

Lifetime lifetime(const Script& script, std::uint32_t serial, const Thresholds& thresholds = {}) {
  return tensor(script.build(thresholds), serial).lifetime;
}

TEST(Lifetimes, WithoutModulesShortMeansFewOutermostOps) {
  Script script;
  script.begin("a").alloc(1, 8).end("a");
  for (int i = 0; i < 4; ++i) script.begin("b").op("nested ones do not count").end("b");
  script.free(1);
  EXPECT_EQ(lifetime(script, 1, {.short_ops = 4}), Lifetime::short_lived);
  EXPECT_EQ(lifetime(script, 1, {.short_ops = 3}), Lifetime::activation);
}

TEST(Lifetimes, WithModulesShortMeansThisLayerOrTheNext) {
  Script script;
  script.enter("one").begin("a").alloc(1, 8).alloc(2, 8).alloc(3, 8).end("a").op("a").op("a").exit("one");
  script.enter("two").op("b").free(1).op("b").free(2).op("b").exit("two");
  script.enter("three").op("c").free(3).exit("three");
  const Thresholds thresholds{.short_ops = 3};
  EXPECT_EQ(lifetime(script, 1, thresholds), Lifetime::short_lived);
  EXPECT_EQ(lifetime(script, 2, thresholds), Lifetime::short_lived) << "five ops later, but in the next layer";
  EXPECT_EQ(lifetime(script, 3, thresholds), Lifetime::activation);
}

TEST(Lifetimes, AModuleThatRunsAWholeModelIsCutIntoWindows) {
  Script script;
  script.enter("model").begin("a").alloc(1, 8).alloc(2, 8).end("a");
  for (int i = 0; i < 5; ++i) script.op("b");
  script.free(1);
  for (int i = 0; i < 20; ++i) script.op("b");
  script.free(2).exit("model");
  EXPECT_EQ(lifetime(script, 1, {.short_ops = 4}), Lifetime::short_lived);
  EXPECT_EQ(lifetime(script, 2, {.short_ops = 4}), Lifetime::activation);
}

TEST(Lifetimes, WhatCrossesTheTurnIsAnActivationHoweverBrief) {
  Script script;
  script.begin("aten::loss", kScopeFunction, 1).alloc(1, 8).alloc(2, 8).free(2).end("aten::loss");
  script.begin("LossBackward0", kScopeBackward, 1).free(1).alloc(3, 8).end("LossBackward0").free(3);
  EXPECT_EQ(lifetime(script, 1), Lifetime::activation);
  EXPECT_EQ(lifetime(script, 2), Lifetime::short_lived);
  EXPECT_EQ(lifetime(script, 3), Lifetime::short_lived) << "born after the turn";
}

TEST(Lifetimes, AliveAcrossABoundaryIsPersistent) {
  Script script;
  script.live(1, 8).live(2, 8).op("a").free(2).alloc(3, 8);
  for (const std::uint32_t serial : {1u, 2u, 3u}) EXPECT_EQ(lifetime(script, serial), Lifetime::persistent) << serial;
}

TEST(Frequency, BucketsAreLogarithmicWithExactEdges) {
  const Thresholds four{.frequency_base = 2, .frequency_buckets = 4};
  EXPECT_EQ(frequency_bucket(0, four), 0);
  EXPECT_EQ(frequency_bucket(0.999, four), 0);
  EXPECT_EQ(frequency_bucket(1, four), 1);
  EXPECT_EQ(frequency_bucket(1.99, four), 1);
  EXPECT_EQ(frequency_bucket(2, four), 2);
  EXPECT_EQ(frequency_bucket(4, four), 3);
  EXPECT_EQ(frequency_bucket(1e9, four), 3) << "the last one is open";
  const Thresholds ten{.frequency_base = 10, .frequency_buckets = 8};
  EXPECT_EQ(frequency_bucket(9.99, ten), 1);
  EXPECT_EQ(frequency_bucket(1000, ten), 4) << "log(1000)/log(10) is below 3 in floating point";
  EXPECT_EQ(frequency_bucket(5, {.frequency_base = 0, .frequency_buckets = 0}), 0) << "nonsense does not crash";
}

TEST(Frequency, CountsOperandSpansSampledSharesAndWholeTensors) {
  Script script;
  script.live(1, 4000).live(2, 1 << 20).guard(2, HEARTH_WATCH_SAMPLED_PAGES, 10).live(3, 100).live(4, 100);
  script.begin("a").operand(1, HEARTH_ACCESS_READ, 1000).operand(2, HEARTH_ACCESS_READ, 1 << 20);
  script.fault(2, HEARTH_ACCESS_READ, 7).fault(2, HEARTH_ACCESS_READ, 90).fault(3, HEARTH_ACCESS_WRITE).end("a");
  script.begin("b").operand(1, HEARTH_ACCESS_READ_WRITE, 4000).operand(4, HEARTH_ACCESS_READ, 0).end("b");
  const Profile profile = script.build();
  EXPECT_DOUBLE_EQ(touches_per_byte(tensor(profile, 1)), 0.25 + 2);
  EXPECT_DOUBLE_EQ(touches_per_byte(tensor(profile, 2)), 0.2) << "two of ten sampled pages";
  EXPECT_DOUBLE_EQ(touches_per_byte(tensor(profile, 3)), 1) << "a fault without operand: taken for all of it";
  EXPECT_DOUBLE_EQ(touches_per_byte(tensor(profile, 4)), 0) << "an operand of no bytes";
}

TEST(Summaries, AddUpPerClass) {
  Script script;
  script.live(1, 1000);
  script.begin("a").alloc(2, 10).free(2).alloc(3, 20).alloc(4, 30).free(3).free(4).end("a");
  script.begin("b").operand(1, HEARTH_ACCESS_READ, 1000).end("b");
  const auto classes = summarize(script.build());
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].lifetime, Lifetime::short_lived);
  EXPECT_EQ(classes[0].tensors, 3u);
  EXPECT_EQ(classes[0].bytes, 60u);
  EXPECT_EQ(classes[0].peak_bytes, 50u) << "two of them alive at once";
  EXPECT_EQ(classes[0].accesses, 0u);
  EXPECT_EQ(classes[1].lifetime, Lifetime::persistent);
  EXPECT_EQ(classes[1].frequency, 1);
  EXPECT_EQ(classes[1].peak_bytes, 1000u);
  EXPECT_DOUBLE_EQ(classes[1].touched_bytes, 1000);
}

}  // namespace
}  // namespace hearth::profile
