// Loops without an optimizer: the period of their ops decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/iteration/player.h"

namespace hearth::iteration {
namespace {

using ::testing::Each;

// `layers` equal layers of 9 ops between an embedding and a head of 6: the forward pass of a transformer.
void forward(Player& loop, int layers = 12) {
  loop.transients_from(10, 3, 4096);
  for (int layer = 0; layer < layers; ++layer) loop.transients_from(100, 9, 1024);
  loop.transients_from(20, 6, 4096);
}

// A loader that collates single samples, then the forward pass.
void inference(Player& loop, int samples = 16) {
  for (int i = 0; i < samples; ++i) loop.transient(30, 256);
  loop.transients_from(31, 2, 2048);
  forward(loop);
}
constexpr std::uint64_t kInferenceOps = 16 + 2 + 3 + 12 * 9 + 6;

// Forward keeps activations, backward frees them, the update is done by hand.
void manual_sgd(Player& loop, bool zero_grad = true) {
  if (zero_grad) loop.ops_from(50, 8);
  for (std::uint32_t i = 0; i < 30; ++i) {
    loop.op(100 + i);
    loop.allocate(512);
  }
  for (std::uint32_t i = 0; i < 40; ++i) {
    loop.op(200 + i);
    if (i < 30) loop.free();
  }
  for (int i = 0; i < 8; ++i) loop.transients_from(300, 2, 128);
}

TEST(PeriodLoop, InferenceWithEqualLayersIsOneIterationPerBatch) {
  Player loop;
  for (int i = 0; i < 60; ++i) inference(loop);
  EXPECT_EQ(loop.detector.source(), Source::period);
  EXPECT_EQ(loop.detector.period(), kInferenceOps);
  ASSERT_GT(loop.closed.size(), 40u);
  EXPECT_THAT(loop.lengths(), Each(kInferenceOps));
  EXPECT_FALSE(loop.detector.take_retraction());
  EXPECT_TRUE(loop.detector.needs_ops());
}

TEST(PeriodLoop, ManyEqualLayersAreNoIterations) {
  Player loop;
  for (int i = 0; i < 40; ++i) forward(loop, 200);
  EXPECT_EQ(loop.detector.period(), 9u * 200 + 9);
  // Within the first pass its layers look like a loop; that is taken back at the pass's end.
  EXPECT_TRUE(loop.detector.take_retraction());
  for (std::size_t i = loop.closed.size() - 20; i < loop.closed.size(); ++i) {
    EXPECT_EQ(loop.closed[i].signature.op_count, 9u * 200 + 9);
  }
}

TEST(PeriodLoop, ManualSgdBeginsWhereTheRepetitionBegins) {
  Player loop;
  for (int i = 0; i < 40; ++i) manual_sgd(loop, i > 0);
  // The first pass has no gradients to clear, so the repetition begins with its forward pass.
  EXPECT_EQ(loop.detector.period(), 94u);
  ASSERT_GT(loop.closed.size(), 20u);
  EXPECT_THAT(loop.lengths(), Each(94u));
  EXPECT_EQ(loop.ops_at[0] % 94, 0u);
  EXPECT_EQ(loop.last().consecutive, loop.closed.size() - 1);
}

TEST(PeriodLoop, VariableShapesHaveOnePeriodAndManySignatures) {
  Player loop;
  for (std::size_t i = 0; i < 100; ++i) loop.transients_from(100, 25, 64 * (1 + i % 7));
  EXPECT_EQ(loop.detector.period(), 25u);
  ASSERT_GT(loop.closed.size(), 50u);
  EXPECT_EQ(loop.detector.signatures_cached(), 8u);  // and the first
  EXPECT_EQ(loop.last().consecutive, 1u);
  EXPECT_GT(loop.last().times_seen, 5u);
}

TEST(PeriodLoop, AllocationsAloneHaveAPeriodToo) {
  Player loop;
  for (int i = 0; i < 100; ++i) {
    for (std::size_t tensor = 0; tensor < 33; ++tensor) {
      loop.allocate(64 + tensor * 128);
      loop.free();
    }
  }
  EXPECT_EQ(loop.detector.source(), Source::period);
  EXPECT_EQ(loop.detector.period(), 33u);
  EXPECT_EQ(loop.last().signature.allocation_count, 33u);
}

TEST(PeriodLoop, BuildingAModelIsNoLoop) {
  Player loop;
  for (int layer = 0; layer < 900; ++layer) {
    loop.op(40);
    loop.allocate(1024);
    loop.op(41);
    loop.op(40);
    loop.allocate(64);
    loop.op(42);
    ASSERT_EQ(loop.detector.period(), 0u) << layer;
  }
  for (int i = 0; i < 60; ++i) inference(loop);
  EXPECT_EQ(loop.detector.period(), kInferenceOps);
  EXPECT_FALSE(loop.detector.take_retraction());
  EXPECT_THAT(loop.lengths(), Each(kInferenceOps));
}

TEST(PeriodLoop, CopyingWeightsIsNoLoop) {
  Player loop;
  loop.allocate(64);
  for (int i = 0; i < 2000; ++i) loop.op(45);
  EXPECT_EQ(loop.detector.period(), 0u);
}

TEST(PeriodLoop, FalsePeriodIsTakenBackAndMoreHistoryDemanded) {
  Player loop;
  for (int i = 0; i < 150; ++i) loop.transients_from(60, 4, 64);  // converting a state dict, say
  ASSERT_EQ(loop.detector.period(), 4u);
  ASSERT_FALSE(loop.closed.empty());
  for (int i = 0; i < 8; ++i) inference(loop);
  EXPECT_TRUE(loop.detector.take_retraction());
  for (int i = 0; i < 60; ++i) inference(loop);
  EXPECT_EQ(loop.detector.period(), kInferenceOps);
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(PeriodLoop, LossPrintedNowAndThenDoesNotEndIt) {
  Player loop;
  for (int i = 0; i < 1000; ++i) {
    manual_sgd(loop);
    if (i % 10 == 9) loop.op(70);
  }
  EXPECT_EQ(loop.detector.period(), 94u);
  EXPECT_FALSE(loop.detector.take_retraction());
  ASSERT_GT(loop.closed.size(), 900u);
  for (const std::uint64_t length : loop.lengths()) EXPECT_TRUE(length == 94 || length == 95) << length;
}

TEST(PeriodLoop, SmallerLastBatchKeepsTheBoundaryOnTime) {
  Player loop;
  for (int epoch = 0; epoch < 12; ++epoch) {
    for (int i = 0; i < 31; ++i) inference(loop);
    inference(loop, 5);
    loop.ops_from(80, 3);  // the loader's seed
  }
  EXPECT_EQ(loop.detector.period(), kInferenceOps);
  EXPECT_FALSE(loop.detector.take_retraction());
  std::size_t odd = 0;
  for (const std::uint64_t length : loop.lengths()) odd += length != kInferenceOps;
  EXPECT_LE(odd, 2u * 12);
  EXPECT_GE(loop.closed.size(), 32u * 12 - 40);
}

TEST(PeriodLoop, EvaluationPassIsCountedBatchByBatch) {
  Player loop;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 300; ++i) manual_sgd(loop);
    for (int batch = 0; batch < 40; ++batch) {
      loop.ops_from(50, 8);
      loop.transients_from(100, 30, 512);
      loop.transients_from(71, 4, 64);
    }
  }
  EXPECT_EQ(loop.detector.period(), 94u);
  EXPECT_FALSE(loop.detector.take_retraction());
  EXPECT_NEAR(static_cast<double>(loop.closed.size()), 6 * 340, 60);
}

TEST(PeriodLoop, IterationGivenUpInTheMiddleIsSurvived) {
  Player loop;
  for (int i = 0; i < 500; ++i) {
    if (i % 50 == 20) {
      loop.transients_from(100, 15, 512);  // a NaN was seen: next batch
    }
    manual_sgd(loop);
  }
  EXPECT_EQ(loop.detector.period(), 94u);
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(PeriodLoop, OtherLoopAfterwardsIsFoundWithoutRetraction) {
  Player loop;
  for (int i = 0; i < 600; ++i) inference(loop);
  ASSERT_EQ(loop.detector.period(), kInferenceOps);
  for (int i = 0; i < 2000; ++i) manual_sgd(loop);
  EXPECT_EQ(loop.detector.period(), 94u);
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(PeriodLoop, CellsOfRandomLengthGiveNoPeriodRatherThanAWrongOne) {
  Random random(1);
  Player loop;
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t steps = 20 + random.below(60);
    loop.ops_from(10, 5);
    for (std::uint32_t t = 0; t < steps; ++t) {
      for (std::uint32_t k = 0; k < 10; ++k) {
        loop.op(100 + k);
        loop.allocate(64);
      }
    }
    for (std::uint32_t t = 0; t < steps; ++t) {
      for (std::uint32_t k = 0; k < 12; ++k) {
        loop.op(200 + k);
        if (k < 10) loop.free();
      }
    }
    loop.transients_from(300, 6, 64);
  }
  EXPECT_EQ(loop.detector.source(), Source::none);
  EXPECT_TRUE(loop.closed.empty());
}

TEST(PeriodLoop, NoiseAtRandomPlacesIsFollowed) {
  Random random(2);
  Player loop;
  for (int i = 0; i < 50; ++i) manual_sgd(loop);
  ASSERT_EQ(loop.detector.period(), 94u);
  const std::size_t before = loop.closed.size();
  for (int i = 0; i < 500; ++i) {
    if (random.below(5) == 0) loop.op(500 + random.below(3));
    manual_sgd(loop);
    if (random.below(5) == 0) loop.op(500 + random.below(3));
  }
  EXPECT_EQ(loop.detector.period(), 94u);
  EXPECT_EQ(loop.closed.size() - before, 500u);
}

TEST(PeriodLoop, WholeLoopInsideOneUserOpIsFoundOneLevelDown) {
  Player loop;
  loop.op(1);
  for (int i = 0; i < 4000; ++i) {
    for (std::uint32_t k = 0; k < 20; ++k) {
      loop.op(100 + k, 1);
      loop.op(200, 2);
      loop.allocate(64);
      loop.free();
    }
  }
  EXPECT_EQ(loop.detector.period(), 20u);
}

TEST(PeriodLoop, NotInitialisedDetectorClosesByStepsOnly) {
  Detector detector;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(detector.op(NameId{1}, 0));
  detector.step_begin(7, NameId{9});
  EXPECT_TRUE(detector.step_end(7, NameId{9}));
}

}  // namespace
}  // namespace hearth::iteration
