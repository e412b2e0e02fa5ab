#include "tier/pages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace hearth::tier {
namespace {

constexpr std::uint64_t kPage = Pages::kPage;

class PagesTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 40;  // the books touch no page of the range
  static constexpr std::uint64_t kCount = 1024;

  void SetUp() override { ASSERT_TRUE(pages.add_range(reinterpret_cast<void*>(kBase), kCount * kPage)); }
  static Extent run(std::uint64_t first, std::uint64_t count) {
    return extent(kBase + first * kPage, kBase + (first + count) * kPage);
  }
  void make_fast(std::uint64_t first, std::uint64_t count) {
    ASSERT_TRUE(pages.claim(count * kPage));
    ASSERT_EQ(pages.settle(run(first, count), Tier::fast), count * kPage);
  }

  Pages pages;
};

TEST_F(PagesTest, NothingIsAnywhereAtFirst) {
  EXPECT_EQ(pages.of(run(0, kCount)), (Residency{0, 0, kCount * kPage}));
  EXPECT_EQ(pages.fast_bytes(), 0u);
  EXPECT_EQ(pages.at(reinterpret_cast<void*>(kBase + 17)), Tier::none);
}

TEST_F(PagesTest, ARangeOfAnotherIsNobodys) {
  EXPECT_FALSE(pages.owns(reinterpret_cast<void*>(kBase - 1)));
  EXPECT_FALSE(pages.owns(reinterpret_cast<void*>(kBase + kCount * kPage)));
  EXPECT_TRUE(pages.owns(reinterpret_cast<void*>(kBase + kCount * kPage - 1)));
  EXPECT_EQ(pages.of({reinterpret_cast<void*>(kBase - kPage), kPage}).total(), 0u);
}

TEST_F(PagesTest, SettlingLeavesPagesThatLieSomewhere) {
  EXPECT_EQ(pages.settle(run(0, 4), Tier::slow), 4 * kPage);
  ASSERT_TRUE(pages.claim(8 * kPage));
  EXPECT_EQ(pages.settle(run(0, 8), Tier::fast), 4 * kPage);
  pages.unclaim(4 * kPage);
  EXPECT_EQ(pages.of(run(0, 8)), (Residency{4 * kPage, 4 * kPage, 0}));
  EXPECT_EQ(pages.fast_bytes(), 4 * kPage);
  EXPECT_EQ(pages.slow_bytes(), 4 * kPage);
}

TEST_F(PagesTest, BytesCountAsTheWholePagesTheyTouch) {
  make_fast(0, 2);
  EXPECT_EQ(pages.of({reinterpret_cast<void*>(kBase + kPage - 1), 2}).fast, 2 * kPage);
  EXPECT_EQ(pages.of({reinterpret_cast<void*>(kBase + 1), 1}).fast, kPage);
  EXPECT_EQ(pages.of({reinterpret_cast<void*>(kBase), 0}).total(), 0u);
}

TEST_F(PagesTest, CapacityIsNeverExceededAndThePeakIsKept) {
  pages.set_capacity(10 * kPage);
  EXPECT_TRUE(pages.claim(10 * kPage));
  EXPECT_FALSE(pages.claim(1));
  pages.unclaim(10 * kPage);
  EXPECT_FALSE(pages.claim(10 * kPage + 1));
  EXPECT_FALSE(pages.claim(~std::uint64_t{0}));
  EXPECT_EQ(pages.fast_peak(), 10 * kPage);
  pages.restart_peak();
  EXPECT_EQ(pages.fast_peak(), 0u);
}

// Bounds that hold however late the clock is read, if the average is over time.
TEST_F(PagesTest, TheAverageIsOverTime) {
  constexpr auto kWhile = std::chrono::milliseconds(20);
  make_fast(0, 100);
  pages.restart_average();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kWhile);
  EXPECT_EQ(pages.fast_average(), 100 * kPage);
  const auto change = std::chrono::steady_clock::now();
  ASSERT_EQ(pages.change(run(0, 80), Tier::slow), 80 * kPage);
  const auto changed = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kWhile);
  const auto before = std::chrono::steady_clock::now();
  const std::uint64_t average = pages.fast_average();
  const auto after = std::chrono::steady_clock::now();
  const auto expected = [&](auto until_change, auto all) {
    return (20 + 80 * std::chrono::duration<double>(until_change) / std::chrono::duration<double>(all)) * kPage;
  };
  EXPECT_GE(static_cast<double>(average), expected(change - begin, after - begin) - 2 * kPage);
  EXPECT_LE(static_cast<double>(average), expected(changed - begin, before - begin) + 2 * kPage);
  pages.restart_average();
  std::this_thread::sleep_for(kWhile);
  EXPECT_EQ(pages.fast_average(), 20 * kPage);
}

TEST_F(PagesTest, ALowerCapacityStopsClaimsUntilEnoughHasLeft) {
  make_fast(0, 8);
  pages.set_capacity(4 * kPage);
  EXPECT_FALSE(pages.claim(kPage));
  EXPECT_EQ(pages.change(run(0, 5), Tier::slow), 5 * kPage);
  EXPECT_TRUE(pages.claim(kPage));
}

TEST_F(PagesTest, ChangesMoveBetweenTheTiersOnly) {
  make_fast(0, 4);
  EXPECT_EQ(pages.change(run(0, 8), Tier::slow), 4 * kPage);  // 4..7 lie nowhere and stay so
  EXPECT_EQ(pages.fast_bytes(), 0u);
  EXPECT_EQ(pages.slow_bytes(), 4 * kPage);
  ASSERT_TRUE(pages.claim(4 * kPage));
  EXPECT_EQ(pages.change(run(0, 8), Tier::fast), 4 * kPage);
  EXPECT_EQ(pages.of(run(0, 8)), (Residency{4 * kPage, 0, 4 * kPage}));
}

TEST_F(PagesTest, VacatedPagesAreNowhereAndKeepTheirBinding) {
  make_fast(0, 4);
  pages.settle(run(4, 4), Tier::slow);
  pages.set_bound(run(4, 4), Tier::slow);
  pages.vacate(run(0, 8));
  EXPECT_EQ(pages.of(run(0, 8)).none, 8 * kPage);
  EXPECT_EQ(pages.fast_bytes() + pages.slow_bytes(), 0u);
  EXPECT_EQ(pages.bound(run(4, 1).address), Tier::slow);
  EXPECT_EQ(pages.bound(run(0, 1).address), Tier::none);
}

TEST_F(PagesTest, AsMuchAsThereIsRoomForIsClaimed) {
  pages.set_capacity(10 * kPage + 100);
  EXPECT_EQ(pages.claim_some(4 * kPage), 4 * kPage);
  EXPECT_EQ(pages.claim_some(8 * kPage), 6 * kPage);
  EXPECT_EQ(pages.claim_some(kPage), 0u);
  EXPECT_EQ(pages.claim_some(0), 0u);
  EXPECT_EQ(pages.fast_bytes(), 10 * kPage);
}

// A run of which only the first page is bound as wanted is not bound as wanted.
TEST_F(PagesTest, AllOfARunMustBeBound) {
  pages.set_bound(run(2, 2), Tier::slow);
  EXPECT_TRUE(pages.bound_to(run(0, 2), Tier::fast, Tier::fast));
  EXPECT_TRUE(pages.bound_to(run(2, 2), Tier::slow, Tier::fast));
  EXPECT_FALSE(pages.bound_to(run(0, 4), Tier::fast, Tier::fast));
  EXPECT_FALSE(pages.bound_to(run(2, 4), Tier::slow, Tier::fast));
  EXPECT_TRUE(pages.bound_to(run(2, 4), Tier::slow, Tier::slow));
}

TEST_F(PagesTest, RunsAreFoundWholeAndInOrder) {
  make_fast(2, 3);
  make_fast(7, 1);
  Extent found = pages.next_run(run(0, 16), Tier::fast);
  EXPECT_EQ(found.begin(), run(2, 3).begin());
  EXPECT_EQ(found.bytes, 3 * kPage);
  found = pages.next_run(extent(found.end(), run(0, 16).end()), Tier::fast);
  EXPECT_EQ(found.begin(), run(7, 1).begin());
  EXPECT_EQ(found.bytes, kPage);
  EXPECT_EQ(pages.next_run(run(8, 8), Tier::fast).bytes, 0u);
}

TEST_F(PagesTest, NoMoreRangesThanThereAre) {
  for (std::uint32_t i = 1; i < Pages::kRanges; ++i) {
    EXPECT_TRUE(pages.add_range(reinterpret_cast<void*>(kBase * (i + 1)), kPage));
  }
  EXPECT_FALSE(pages.add_range(reinterpret_cast<void*>(kBase * 100), kPage));
}

// Owners give and take memory while movers change tiers: the sums agree with the pages at the end, and the capacity
// holds at every moment.
TEST_F(PagesTest, OwnersAndMoversAtOnce) {
  pages.set_capacity(kCount / 4 * kPage);
  std::atomic<bool> go{true};
  const auto owner = [&](std::uint64_t first, std::uint64_t count) {
    std::mt19937 random(static_cast<unsigned>(first));
    while (go) {
      const Extent block = run(first + random() % (count - 8), 1 + random() % 8);
      if (random() % 2 == 0) {
        pages.vacate(block);
      } else if (const std::uint64_t bytes = pages.of(block).none; pages.claim(bytes)) {
        pages.unclaim(bytes - pages.settle(block, Tier::fast));
      } else {
        pages.settle(block, Tier::slow);
      }
    }
  };
  const auto mover = [&](unsigned seed) {
    std::mt19937 random(seed);
    while (go) {
      const Extent block = run(random() % (kCount - 32), 1 + random() % 32);
      if (random() % 2 == 0) {
        pages.change(block, Tier::slow);
      } else if (pages.claim(block.bytes)) {
        pages.unclaim(block.bytes - pages.change(block, Tier::fast));
      }
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(owner, 0, kCount / 2);
  threads.emplace_back(owner, kCount / 2, kCount / 2);
  threads.emplace_back(mover, 1);
  threads.emplace_back(mover, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  go = false;
  for (std::thread& thread : threads) thread.join();
  const Residency residency = pages.of(run(0, kCount));
  EXPECT_EQ(residency.fast, pages.fast_bytes());
  EXPECT_EQ(residency.slow, pages.slow_bytes());
  EXPECT_LE(pages.fast_peak(), pages.capacity());
  EXPECT_GT(pages.fast_peak(), 0u);
}

}  // namespace
}  // namespace hearth::tier
