// Random loops: the period found is the true one, or none.
#include <gtest/gtest.h>

#include <vector>

#include "unit/iteration/player.h"

namespace hearth::iteration {
namespace {

using Sequence = std::vector<std::uint32_t>;

Sequence random_sequence(Random& random, std::size_t length, std::uint32_t alphabet) {
  Sequence sequence(length);
  for (std::uint32_t& name : sequence) name = 1 + random.below(alphabet);
  return sequence;
}

std::size_t true_period(const Sequence& once) {
  for (std::size_t period = 1; period < once.size(); ++period) {
    if (once.size() % period != 0) continue;
    bool repeats = true;
    for (std::size_t i = period; i < once.size() && repeats; ++i) repeats = once[i] == once[i - period];
    if (repeats) return period;
  }
  return once.size();
}

void play(Player& loop, const Sequence& names) {
  for (const std::uint32_t name : names) loop.op(name);
}

TEST(PeriodProperty, RandomPeriodsAfterRandomPrefixes) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t length = 1 + random.below((trial % 10 == 0 ? 4000 : 300));
    const Sequence once = random_sequence(random, length, 2 + random.below(40));
    const std::size_t period = true_period(once);
    Player loop;
    play(loop, random_sequence(random, random.below(3000), 2 + random.below(40)));
    const std::uint64_t prefix = loop.ops;
    // Ends when a period explains half of the history, at lengths that grow by half.
    const std::uint64_t enough = 3 * (2 * prefix + 6 * length + 1024);
    while (loop.ops < enough) play(loop, once);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << " period " << period << " prefix " << prefix);
    ASSERT_EQ(loop.detector.period(), period);
    ASSERT_FALSE(loop.closed.empty());
    for (const std::uint64_t between : loop.lengths()) ASSERT_EQ(between, period);
  }
}

TEST(PeriodProperty, NoPeriodInRandomSequences) {
  Random random(4);
  for (int trial = 0; trial < 20; ++trial) {
    Player loop;
    play(loop, random_sequence(random, 200'000, 2 + random.below(30)));
    ASSERT_EQ(loop.detector.period(), 0u);
    ASSERT_TRUE(loop.closed.empty());
  }
}

// Layers of few ops between random ends: whatever is believed on the way, the whole is found at last.
TEST(PeriodProperty, RepeatedLayersInsideTheIteration) {
  Random random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const Sequence layer = random_sequence(random, 4 + random.below(40), 30);
    const Sequence begin = random_sequence(random, 4 + random.below(10), 60);
    const Sequence end = random_sequence(random, 4 + random.below(10), 60);
    const std::size_t layers = 2 + random.below(120);
    Sequence once = begin;
    for (std::size_t i = 0; i < layers; ++i) once.insert(once.end(), layer.begin(), layer.end());
    once.insert(once.end(), end.begin(), end.end());
    Player loop;
    for (int i = 0; i < 30; ++i) play(loop, once);
    ASSERT_EQ(loop.detector.period(), once.size()) << "trial " << trial << ", " << layers << " of " << layer.size();
  }
}

// A boundary is told for every iteration, on time, whatever is inserted into a few of them.
TEST(PeriodProperty, BoundariesSurviveInsertions) {
  Random random(6);
  for (int trial = 0; trial < 50; ++trial) {
    const Sequence once = random_sequence(random, 64 + random.below(300), 50);
    Player loop;
    for (int i = 0; i < 40; ++i) play(loop, once);
    ASSERT_EQ(loop.detector.period(), once.size());
    const std::size_t before = loop.closed.size();
    for (int i = 0; i < 200; ++i) {
      Sequence changed = once;
      const std::uint32_t place = random.below(static_cast<std::uint32_t>(once.size()));
      if (random.below(4) == 0) changed.insert(changed.begin() + place, 99);
      play(loop, changed);
    }
    ASSERT_EQ(loop.closed.size() - before, 200u) << "trial " << trial;
    ASSERT_EQ(loop.detector.period(), once.size());
  }
}

TEST(PeriodProperty, LongestPeriodOfTheHistory) {
  Random random(7);
  for (const std::uint32_t length : {History::kLongestPeriod - 1000, History::kLongestPeriod + 1}) {
    const Sequence once = random_sequence(random, length, 100);
    Player loop;
    for (int i = 0; i < 12; ++i) play(loop, once);
    ASSERT_EQ(loop.detector.period(), length <= History::kLongestPeriod ? length : 0);
  }
}

}  // namespace
}  // namespace hearth::iteration
