#include "access/page_sampler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hearth::access {
namespace {

TEST(PageSample, FirstPageAndOnePagePerStratumInAscendingOrder) {
  for (const std::uint64_t pages : {1u, 2u, 3u, 128u, 129u, 130u, 1000u, 4097u, 1000003u}) {
    const PageSample sample(7, pages, 128);
    EXPECT_EQ(sample.count(), pages <= 129 ? pages : 129) << pages;
    EXPECT_EQ(sample.page(0), 0u);
    for (std::uint32_t i = 1; i < sample.count(); ++i) {
      ASSERT_GT(sample.page(i), sample.page(i - 1)) << pages;
      ASSERT_LT(sample.page(i), pages);
      const double stratum = static_cast<double>(pages - 1) / (sample.count() - 1);
      ASSERT_GE(static_cast<double>(sample.page(i)), std::floor(1 + (i - 1) * stratum)) << pages;
      ASSERT_LE(static_cast<double>(sample.page(i)), 1 + i * stratum) << pages;
    }
  }
}

TEST(PageSample, ZeroStrataIsTheFirstPageAlone) {
  EXPECT_EQ(PageSample(1, 1000, 0).count(), 1u);
  EXPECT_EQ(PageSample(1, 1000, 0).page(0), 0u);
}

TEST(PageSample, SameSerialSamePagesOtherSerialOthers) {
  int equal = 0;
  for (std::uint32_t i = 1; i <= 128; ++i) {
    EXPECT_EQ(PageSample(5, 100000, 128).page(i), PageSample(5, 100000, 128).page(i));
    equal += PageSample(5, 100000, 128).page(i) == PageSample(6, 100000, 128).page(i);
  }
  EXPECT_LT(equal, 5);
}

// The error that docs/profiling.md states: for randomly spread touches at most sqrt(p (1 - p) / n).
TEST(PageSample, EstimatesSpreadTouchesWithTheStatedError) {
  constexpr std::uint32_t kPages = 10001;
  constexpr double kShare = 0.3;
  const auto touched = [](std::uint64_t page, std::uint32_t trial) {
    std::uint64_t x = (page + 1) * 0x9e3779b97f4a7c15u + trial * 0xd1342543de82ef95u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return static_cast<double>(x >> 11) * 0x1p-53 < kShare;
  };
  double squares = 0;
  constexpr std::uint32_t kTrials = 400;
  for (std::uint32_t trial = 1; trial <= kTrials; ++trial) {
    const PageSample sample(trial, kPages, 128);
    double hits = 0;
    for (std::uint32_t i = 1; i < sample.count(); ++i) hits += touched(sample.page(i), trial);
    const double error = hits / 128 - kShare;
    squares += error * error;
  }
  const double stated = std::sqrt(kShare * (1 - kShare) / 128);
  EXPECT_NEAR(std::sqrt(squares / kTrials), stated, 0.15 * stated);
}

TEST(PageSample, ClusteredTouchesAreEstimatedFarBetter) {
  // The first 37 % of a tensor: only the stratum on the border can be wrong.
  for (std::uint32_t serial = 1; serial <= 100; ++serial) {
    const PageSample sample(serial, 100001, 128);
    double hits = 0;
    for (std::uint32_t i = 1; i < sample.count(); ++i) hits += sample.page(i) <= 37000;
    EXPECT_NEAR(hits / 128, 0.37, 1.0 / 128);
  }
}

}  // namespace
}  // namespace hearth::access
