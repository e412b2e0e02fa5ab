// pack(): nothing ever overlaps, whatever the instance; heights near the bound where that can be reached.
#include "plan/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "unit/plan/instances.h"

namespace hearth::plan {
namespace {

using namespace test;

TEST(Pack, NothingNeedsNothing) {
  const Packing packing = packed({}, 10);
  EXPECT_EQ(packing.height, 0u);
  EXPECT_EQ(packing.lower_bound, 0u);
}

TEST(Pack, OneItemLiesAtZeroInWholeLines) {
  const Packing packing = packed({{.bytes = 65, .birth = 3, .death = 4, .group = 0}}, 10);
  EXPECT_THAT(packing.offsets, testing::ElementsAre(0));
  EXPECT_EQ(packing.height, 128u);
}

TEST(Pack, WhatFollowsEachOtherSharesItsPlace) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < 100; ++i) items.push_back({.bytes = 64 * (i + 1ul), .birth = i, .death = i + 1});
  const Packing packing = packed(items, 100);
  EXPECT_EQ(packing.height, 6400u);
  EXPECT_THAT(packing.offsets, testing::Each(0));
}

TEST(Pack, AllAliveAtOnceAreStackedWithoutGaps) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < 200; ++i) items.push_back({.bytes = 64 * (i + 1ul), .birth = i, .death = 400 - i});
  const Packing packing = packed(items, 500);
  EXPECT_EQ(problem_of(items, packing), "");
  EXPECT_EQ(packing.height, 64u * 200 * 201 / 2);
}

TEST(Pack, AnItemThatOutlivesTheIterationBlocksBothEnds) {
  const std::vector<Item> items = {{.bytes = 640, .birth = 8, .death = 3},   // [8, 10) and [0, 3)
                                   {.bytes = 640, .birth = 2, .death = 4},   // meets it at the begin
                                   {.bytes = 640, .birth = 9, .death = 10},  // at the end
                                   {.bytes = 640, .birth = 3, .death = 8}};  // and this not at all
  const Packing packing = packed(items, 10);
  EXPECT_EQ(problem_of(items, packing), "");
  EXPECT_EQ(packing.lower_bound, 1280u);
  EXPECT_EQ(packing.height, 1280u);
}

TEST(Pack, AWholeTurnMeetsEverything) {
  const std::vector<Item> items = {{.bytes = 64, .birth = 5, .death = 5}, {.bytes = 64, .birth = 2, .death = 3}};
  const Packing packing = packed(items, 10);
  EXPECT_EQ(problem_of(items, packing), "");
  EXPECT_EQ(packing.height, 128u);
}

TEST(Pack, ThousandsOfRandomInstancesNeverOverlap) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t period = 2 + below(random, 60);
    const std::vector<Item> items = random_items(random, 1 + below(random, 40), period);
    const Packing packing = packed(items, period, 60);
    ASSERT_EQ(problem_of(items, packing), "") << "round " << round;
    ASSERT_EQ(packing.lower_bound, peak_by_counting(items, period)) << "round " << round;
    ASSERT_GE(packing.height, packing.lower_bound) << "round " << round;
  }
}

TEST(Pack, GroupedPackingsNeverOverlapEither) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t period = 2 + below(random, 60);
    const std::vector<Item> items = random_items(random, 1 + below(random, 40), period);
    PackOptions options{.period = period, .budget_ms = 60'000, .attempts = 30, .keep_groups_together = true};
    const Packing packing = pack(items, options);
    ASSERT_EQ(problem_of(items, packing), "") << "round " << round;
    ASSERT_EQ(packing.lower_bound, peak_by_counting(items, period)) << "round " << round;
  }
}

// Between two of one group that are alive together lies nothing of another one that is alive with both.
TEST(Pack, GroupsLieSideBySide) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t period = 20;
    const std::vector<Item> items = random_items(random, 12, period);
    const Packing packing =
        pack(items, {.period = period, .budget_ms = 60'000, .attempts = 30, .keep_groups_together = true});
    for (std::size_t a = 0; a < items.size(); ++a) {
      for (std::size_t b = 0; b < items.size(); ++b) {
        if (items[a].group != items[b].group || !meet(items[a], items[b])) continue;
        for (std::size_t c = 0; c < items.size(); ++c) {
          if (items[c].group == items[a].group || !meet(items[c], items[a]) || !meet(items[c], items[b])) continue;
          const bool between = packing.offsets[a] < packing.offsets[c] && packing.offsets[c] < packing.offsets[b];
          ASSERT_FALSE(between) << "round " << round << ": " << c << " between " << a << " and " << b;
        }
      }
    }
  }
}

TEST(Pack, GroupingCostIsWhatItAddsToTheHeight) {
  // Free packing puts the short ones of both groups into one place; side by side with their own they need two.
  const std::vector<Item> items = {{.bytes = 640, .birth = 0, .death = 5, .group = 0},
                                   {.bytes = 640, .birth = 5, .death = 10, .group = 1},
                                   {.bytes = 64, .birth = 4, .death = 6, .group = 0},
                                   {.bytes = 64, .birth = 4, .death = 7, .group = 1}};
  const Packing packing = pack(items, {.period = 10, .keep_groups_together = true});
  EXPECT_EQ(packing.lower_bound, 768u);
  EXPECT_EQ(packing.height, 768u + packing.grouping_cost);
  EXPECT_GT(packing.grouping_cost, 0u);
}

TEST(Pack, TrainingStepsComeWithinOnePercentOfTheBound) {
  Random random(4);
  for (const std::uint32_t layers : {3u, 10u, 30u, 100u, 300u}) {
    for (int round = 0; round < 4; ++round) {
      const Step step = training_step(random, layers);
      const Packing packing = packed(step.items, step.period);
      ASSERT_EQ(problem_of(step.items, packing), "");
      EXPECT_LE(static_cast<double>(packing.height), 1.01 * static_cast<double>(packing.lower_bound))
          << layers << " layers, round " << round;
    }
  }
}

// What defeats allocators that place in order of birth: small survivors between large blocks that are freed, and then
// something larger than any hole.
TEST(Pack, SurvivorsDoNotFragment) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < 50; ++i) {
    items.push_back({.bytes = 10'240, .birth = 2 * i, .death = 100 + i});
    items.push_back({.bytes = 64, .birth = 2 * i + 1, .death = 399});
  }
  for (std::uint32_t i = 0; i < 25; ++i) items.push_back({.bytes = 20'480, .birth = 200 + i, .death = 300 + i});
  const Packing packing = packed(items, 400);
  EXPECT_EQ(problem_of(items, packing), "");
  EXPECT_EQ(packing.height, packing.lower_bound);
}

// Sizes that double while lifetimes halve, the worst for orders by size, and the reverse.
TEST(Pack, TowersOfDoublingSizes) {
  for (const bool large_live_long : {false, true}) {
    std::vector<Item> items;
    for (std::uint32_t level = 0; level < 9; ++level) {
      const std::uint32_t length = 512u >> level;
      for (std::uint32_t i = 0; i < 1u << level; ++i) {
        const std::uint64_t bytes = 64ull << (large_live_long ? 9 - level : level);
        items.push_back({.bytes = bytes, .birth = i * length, .death = (i + 1) * length});
      }
    }
    const Packing packing = packed(items, 512);
    EXPECT_EQ(problem_of(items, packing), "");
    EXPECT_EQ(packing.height, packing.lower_bound);
  }
}

TEST(Pack, TheSameInstanceGivesTheSamePacking) {
  Random random(5);
  int searched = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Item> items = random_items(random, 8, 8);
    for (Item& item : items) item.bytes = 64 * (1 + item.bytes % 9);
    const Packing once = packed(items, 8), again = packed(items, 8);
    ASSERT_FALSE(once.out_of_time);
    ASSERT_EQ(once.offsets, again.offsets) << "round " << round;
    ASSERT_EQ(once.attempts, again.attempts) << "round " << round;
    searched += once.attempts == 6000 ? 1 : 0;
  }
  EXPECT_GT(searched, 0) << "no instance to search in";
}

TEST(Pack, WithoutTimeOnePlacementIsStillMade) {
  Random random(6);
  const std::vector<Item> items = random_items(random, 300, 200);
  const Packing packing = pack(items, {.period = 200, .budget_ms = 0});
  EXPECT_EQ(problem_of(items, packing), "");
  EXPECT_EQ(packing.attempts, 1u);
  EXPECT_TRUE(packing.out_of_time);
}

TEST(Pack, SearchLowersTheHeight) {
  Random random(7);
  std::uint64_t first = 0, searched = 0;
  for (int round = 0; round < 20; ++round) {
    const std::vector<Item> items = random_items(random, 100, 80);
    first += packed(items, 80, 1).height;
    searched += packed(items, 80, 2000).height;
  }
  EXPECT_LT(searched, first);
}

TEST(Pack, LargeItemsBeginAtPagesWhereThatIsFree) {
  const std::vector<Item> items = {{.bytes = 1 << 20, .birth = 0, .death = 9},
                                   {.bytes = (2 << 20) + 64, .birth = 1, .death = 9},
                                   {.bytes = 4096 - 128, .birth = 2, .death = 9}};
  const Packing packing = packed(items, 10);
  EXPECT_EQ(problem_of(items, packing), "");
  EXPECT_EQ(packing.offsets[0] % kPage, 0u);
  EXPECT_EQ(packing.offsets[1] % kPage, 0u);
  EXPECT_EQ(whole_pages(packing.height), whole_pages(packing.lower_bound));
  const Packing tight = pack(items, {.period = 10, .whole_pages = false});
  EXPECT_EQ(tight.height, tight.lower_bound);
}

TEST(Pack, TwentyThousandItems) {
  Random random(8);
  const Step step = training_step(random, 5000);
  ASSERT_EQ(step.items.size(), 20'000u);
  const Packing packing = pack(step.items, {.period = step.period, .budget_ms = 0});
  EXPECT_EQ(problem_of(step.items, packing), "");
}

}  // namespace
}  // namespace hearth::plan
