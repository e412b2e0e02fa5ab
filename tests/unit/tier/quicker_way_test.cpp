#include "tier/quicker_way.h"

#include <gtest/gtest.h>

#include <memory>

namespace hearth::tier {
namespace {

using Way = QuickerWay::Way;

class QuickerWayTest : public ::testing::Test {
 protected:
  // Moves of both kinds that take so long, until all trials are made.
  void measure(Tier to, std::uint64_t pages_ns, std::uint64_t range_ns) {
    for (std::uint32_t i = 0; i < 2 * QuickerWay::kTrials; ++i) {
      EXPECT_EQ(way->found(to), Way::unknown);
      const Way tried = way->choose(i, to);
      EXPECT_EQ(tried, i % 2 == 0 ? Way::pages : Way::range);
      way->took(to, tried, tried == Way::pages ? pages_ns + i * 100 : range_ns + i * 100);
    }
  }
  std::unique_ptr<QuickerWay> way = std::make_unique<QuickerWay>();
};

TEST_F(QuickerWayTest, TheQuickerOneIsKept) {
  measure(Tier::fast, 1'000'000, 500'000);
  EXPECT_EQ(way->found(Tier::fast), Way::range);
  EXPECT_EQ(way->choose(1000, Tier::fast), Way::range);
  EXPECT_EQ(way->choose(1001, Tier::fast), Way::range);
}

TEST_F(QuickerWayTest, EachDirectionForItself) {
  measure(Tier::fast, 1'000'000, 500'000);
  measure(Tier::slow, 500'000, 1'000'000);
  EXPECT_EQ(way->found(Tier::fast), Way::range);
  EXPECT_EQ(way->found(Tier::slow), Way::pages);
}

TEST_F(QuickerWayTest, BindingMustBeWorthIt) {
  measure(Tier::fast, 1'000'000, 950'000);
  EXPECT_EQ(way->found(Tier::fast), Way::pages);
}

TEST_F(QuickerWayTest, ARefusalIsFinal) {
  way->refuse_range(Tier::slow);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(way->choose(i, Tier::slow), Way::pages);
  way->took(Tier::slow, Way::range, 1);
  EXPECT_EQ(way->found(Tier::slow), Way::pages);
}

// The kernel has a limit for the number of mappings, which the program may need.
TEST_F(QuickerWayTest, NoMoreUnitsAreBoundThanTheKernelHasRoomFor) {
  measure(Tier::fast, 1'000'000, 500'000);
  std::uint32_t bound = 0;
  constexpr std::uint32_t kUnits = 4 * QuickerWay::kMostBound;
  for (std::uint64_t unit = 0; unit < kUnits; ++unit) bound += way->choose(unit, Tier::fast) == Way::range ? 1 : 0;
  EXPECT_GE(bound, QuickerWay::kMostBound - QuickerWay::kTrials);
  EXPECT_LT(bound, 2 * QuickerWay::kMostBound);
  EXPECT_EQ(way->choose(0, Tier::fast), Way::range) << "one that was bound before costs nothing more";
}

}  // namespace
}  // namespace hearth::tier
