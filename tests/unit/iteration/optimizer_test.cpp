// Loops with an optimizer: the first one's step closes the iteration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/iteration/player.h"

namespace hearth::iteration {
namespace {

using ::testing::Each;

constexpr std::uint32_t kAdam = 900;
constexpr std::uint32_t kSgd = 901;

void forward_backward(Player& loop, std::size_t batch = 32) {
  loop.transients_from(100, 20, batch * 64);
  loop.transients_from(200, 30, batch * 64);
}

void step(Player& loop, std::uint64_t optimizer, std::uint32_t name, std::uint32_t ops) {
  loop.step(optimizer, name, [&] { loop.ops_from(300, ops); });
}

// Lazily made state makes the first step longer, as in Adam.
void adam_step(Player& loop, std::uint64_t optimizer, std::uint32_t ops, bool first) {
  loop.step(optimizer, kAdam, [&] {
    if (first) loop.ops_from(400, ops);
    loop.transients_from(300, ops, 256);
  });
}

TEST(OptimizerLoop, PlainStepClosesOnTimeAndSettles) {
  Player loop;
  for (int i = 0; i < 10; ++i) {
    forward_backward(loop);
    adam_step(loop, 7, 12, i == 0);
    ASSERT_EQ(loop.closed.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(loop.last().number, static_cast<std::uint64_t>(i));
    EXPECT_EQ(loop.last().source, Source::optimizer);
  }
  EXPECT_EQ(loop.last().consecutive, 9u);  // the first differs
  EXPECT_EQ(loop.last().times_seen, 9u);
  EXPECT_EQ(loop.last().signature.op_count, 62u);
  EXPECT_EQ(loop.last().signature.allocation_count, 62u);
  EXPECT_EQ(loop.detector.signatures_cached(), 2u);
  EXPECT_FALSE(loop.detector.needs_ops());
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(OptimizerLoop, NeedsOpsUntilASignatureWasSeenSeveralTimes) {
  Player loop;
  for (int i = 0; i < 3; ++i) {
    forward_backward(loop);
    adam_step(loop, 7, 12, i == 0);
    EXPECT_TRUE(loop.detector.needs_ops()) << i;
  }
  forward_backward(loop);
  adam_step(loop, 7, 12, false);
  EXPECT_FALSE(loop.detector.needs_ops());
}

TEST(OptimizerLoop, VariableShapesDoNotKeepOpMarksForEver) {
  Player loop;
  for (std::size_t i = 0; i < 70; ++i) {
    forward_backward(loop, 100 + i);
    step(loop, 7, kSgd, 4);
  }
  EXPECT_EQ(loop.last().times_seen, 1u);
  EXPECT_EQ(loop.closed[5].signature.ops, loop.last().signature.ops);
  EXPECT_NE(loop.closed[5].signature.exact, loop.last().signature.exact);
  EXPECT_FALSE(loop.detector.needs_ops());
}

TEST(OptimizerLoop, WithoutOpMarksTheSignatureIsToldByItsAllocations) {
  Player loop;
  for (int i = 0; i < 5; ++i) {
    forward_backward(loop);
    step(loop, 7, kSgd, 4);
  }
  const Signature full = loop.last().signature;
  for (int i = 0; i < 50; ++i) loop.allocate(32 * 64 + 64 * static_cast<std::size_t>(i < 20 ? i : i - 20));
  loop.step(7, kSgd, [] {});
  EXPECT_EQ(loop.last().signature, full);
  EXPECT_EQ(loop.last().consecutive, 6u);
}

TEST(OptimizerLoop, AccumulatedBackwardsAreOneIteration) {
  Player loop;
  for (int i = 0; i < 12; ++i) {
    for (int micro = 0; micro < 4; ++micro) forward_backward(loop);
    step(loop, 7, kSgd, 4);
  }
  EXPECT_EQ(loop.closed.size(), 12u);
  EXPECT_THAT(loop.lengths(), Each(204u));
  EXPECT_EQ(loop.last().consecutive, 12u);
}

TEST(OptimizerLoop, PeriodFoundAmongMicroBatchesIsTakenBackAtTheFirstStep) {
  Player loop;
  for (int micro = 0; micro < 64; ++micro) forward_backward(loop);
  ASSERT_EQ(loop.detector.source(), Source::period);
  ASSERT_GT(loop.closed.size(), 10u);
  ASSERT_FALSE(loop.detector.take_retraction());
  step(loop, 7, kSgd, 4);
  EXPECT_EQ(loop.detector.source(), Source::optimizer);
  EXPECT_TRUE(loop.detector.take_retraction());
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(OptimizerLoop, GanHasOneIterationPerStepOfTheFirst) {
  Player loop;
  for (int i = 0; i < 20; ++i) {
    forward_backward(loop);
    adam_step(loop, 7, 12, i == 0);  // discriminator
    forward_backward(loop);
    adam_step(loop, 8, 9, i == 0);  // generator, of the same class
  }
  EXPECT_EQ(loop.closed.size(), 20u);
  EXPECT_EQ(loop.last().consecutive, 18u);
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(OptimizerLoop, GanOfUnknownIdentitiesIsToldByTheInsidesOfItsSteps) {
  Player loop;
  for (int i = 0; i < 20; ++i) {
    forward_backward(loop);
    adam_step(loop, 0, 12, i == 0);
    forward_backward(loop);
    adam_step(loop, 0, 9, i == 0);
    EXPECT_EQ(loop.detector.take_retraction(), i == 3);  // halves had been closed
  }
  // Seven halves, then whole iterations, closed by the discriminator.
  EXPECT_EQ(loop.last().signature.op_count, 50u + 9 + 50 + 12);
  EXPECT_EQ(loop.last().consecutive, 16u);
  EXPECT_TRUE(loop.detector.needs_ops());
}

TEST(OptimizerLoop, SeveralCriticStepsOfUnknownIdentityEachClose) {
  Player loop;
  for (int i = 0; i < 20; ++i) {
    for (int critic = 0; critic < 5; ++critic) {
      forward_backward(loop);
      step(loop, 0, kAdam, 12);
    }
    forward_backward(loop);
    step(loop, 0, kAdam, 9);
  }
  // The last: the 5th critic step; the generator's lies in the first one of the next round.
  EXPECT_EQ(loop.last().consecutive, 0u + 4);
  loop.closed.clear();
  for (int i = 0; i < 10; ++i) {
    for (int critic = 0; critic < 5; ++critic) step(loop, 0, kAdam, 12);
    step(loop, 0, kAdam, 9);
  }
  EXPECT_EQ(loop.closed.size(), 50u);
}

TEST(OptimizerLoop, OneOfUnknownIdentityWithVaryingInsidesStaysWhole) {
  Player loop;
  for (std::uint32_t i = 0; i < 100; ++i) {
    forward_backward(loop);
    step(loop, 0, kSgd, 5 + (i * i * 7 + i / 3) % 5);  // experts that got no gradient are left out
  }
  EXPECT_EQ(loop.closed.size(), 100u);
  EXPECT_FALSE(loop.detector.take_retraction());
}

TEST(OptimizerLoop, IdentityLearntLaterIsTheSameOptimizer) {
  Player loop;
  for (int i = 0; i < 10; ++i) {
    forward_backward(loop);
    step(loop, i < 3 ? 0 : 7, kSgd, 4);
  }
  EXPECT_EQ(loop.closed.size(), 10u);
}

TEST(OptimizerLoop, SilentOptimizerIsReplaced) {
  Player loop;
  for (int i = 0; i < 10; ++i) {
    step(loop, 7, kAdam, 4);
    step(loop, 8, kAdam, 4);
  }
  ASSERT_EQ(loop.closed.size(), 10u);
  for (int i = 0; i < 20; ++i) step(loop, 8, kAdam, 4);
  // Distance 2: the 7th foreign step in a row is more than 6 after the last own one (one more lay behind it).
  EXPECT_EQ(loop.closed.size(), 10u + 20 - 5);
}

TEST(OptimizerLoop, WrappedStepsCountOnce) {
  Player loop;
  for (int i = 0; i < 5; ++i) {
    forward_backward(loop);
    loop.step(7, kSgd, [&] { step(loop, 8, kAdam, 4); });
  }
  EXPECT_EQ(loop.closed.size(), 5u);
}

TEST(OptimizerLoop, StepSeenFromItsMiddleCloses) {
  Player loop;
  loop.op(300);
  EXPECT_TRUE(loop.detector.step_end(7, NameId{kSgd}));
  step(loop, 7, kSgd, 4);
  EXPECT_EQ(loop.closed.size(), 1u);
}

TEST(OptimizerLoop, EvaluationPassAndLastBatchAreOddSignaturesAmongTheUsual) {
  Player loop(4);
  std::uint32_t usual = 0;
  for (int i = 0; i < 600; ++i) {
    const bool last_of_epoch = i % 50 == 49;
    if (i > 0 && i % 200 == 0) {
      for (int batch = 0; batch < 10; ++batch) loop.transients_from(100, 20, 777);
    }
    forward_backward(loop, last_of_epoch ? 17 : 32);
    step(loop, 7, kSgd, 4);
    if (!last_of_epoch && i % 200 != 0) ++usual;
  }
  ASSERT_EQ(loop.closed.size(), 600u);
  EXPECT_EQ(loop.closed[598].times_seen, usual + 1);  // the very first lacks nothing here
  EXPECT_EQ(loop.closed[598].consecutive, 49u);
  EXPECT_EQ(loop.closed[599].times_seen, 12u);
  EXPECT_EQ(loop.closed[599].consecutive, 1u);
  EXPECT_EQ(loop.detector.signatures_cached(), 3u);
  EXPECT_EQ(loop.detector.source(), Source::optimizer);
}

TEST(OptimizerLoop, StepSkippedByAScalerMakesOneLongIteration) {
  Player loop;
  for (int i = 0; i < 30; ++i) {
    forward_backward(loop);
    loop.ops_from(500, 3);  // unscale, look for inf
    if (i != 10) step(loop, 7, kSgd, 4);
  }
  EXPECT_EQ(loop.closed.size(), 29u);
  EXPECT_EQ(loop.closed[10].signature.op_count, 2 * 53u + 4);
  EXPECT_EQ(loop.closed[10].consecutive, 1u);
  EXPECT_EQ(loop.last().consecutive, 18u);
  EXPECT_EQ(loop.last().times_seen, 28u);
}

TEST(OptimizerLoop, RecomputedForwardIsPartOfTheIteration) {
  Player loop;
  for (int i = 0; i < 8; ++i) {
    loop.transients_from(100, 20, 64);
    for (std::uint32_t segment = 0; segment < 4; ++segment) {
      loop.transients_from(100 + 5 * segment, 5, 64);
      loop.transients_from(200, 7, 64);
    }
    step(loop, 7, kSgd, 4);
  }
  EXPECT_EQ(loop.closed.size(), 8u);
  EXPECT_EQ(loop.last().consecutive, 8u);
}

TEST(OptimizerLoop, LbfgsClosuresLieInsideTheStep) {
  for (const std::uint64_t identity : {7u, 0u}) {
    Random random(1);
    Player loop;
    for (int i = 0; i < 40; ++i) {
      const std::uint32_t closures = 1 + random.below(4);
      loop.step(identity, kAdam, [&] {
        for (std::uint32_t closure = 0; closure < closures; ++closure) forward_backward(loop);
      });
    }
    EXPECT_EQ(loop.closed.size(), 40u);
    EXPECT_EQ(loop.detector.signatures_cached(), 4u);
  }
}

TEST(OptimizerLoop, LoopAfterTheTrainingIsFoundByItsPeriod) {
  Player loop;
  for (int i = 0; i < 10; ++i) {
    forward_backward(loop);
    step(loop, 7, kSgd, 4);
  }
  ASSERT_FALSE(loop.detector.needs_ops());
  for (int i = 0; i < 2000; ++i) loop.transients_from(100, 20, 64);
  EXPECT_EQ(loop.detector.source(), Source::period);
  EXPECT_TRUE(loop.detector.needs_ops());
  EXPECT_EQ(loop.detector.period(), 20u);
  EXPECT_FALSE(loop.detector.take_retraction());
  forward_backward(loop);
  step(loop, 7, kSgd, 4);
  EXPECT_EQ(loop.detector.source(), Source::optimizer);
  EXPECT_FALSE(loop.detector.take_retraction());
}

}  // namespace
}  // namespace hearth::iteration
