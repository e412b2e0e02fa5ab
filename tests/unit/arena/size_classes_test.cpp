#include "arena/size_classes.h"

#include <gtest/gtest.h>

namespace hearth::arena {
namespace {

TEST(SizeClasses, RunOneByOneThenEightPerDoubling) {
  constexpr std::uint64_t kExpected[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 18,
                                         20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72};
  for (unsigned i = 0; i < std::size(kExpected); ++i) {
    EXPECT_EQ(size_class::pages_of(i), kExpected[i]) << i;
  }
}

TEST(SizeClasses, BracketEverySize) {
  auto check = [](std::uint32_t pages) {
    unsigned below = size_class::below(pages);
    unsigned above = size_class::above(pages);
    ASSERT_LE(size_class::pages_of(below), pages);
    ASSERT_GT(size_class::pages_of(below + 1), pages);
    ASSERT_GE(size_class::pages_of(above), pages);
    ASSERT_LE(size_class::pages_of(above), pages + pages / 8) << pages;
    ASSERT_TRUE(above == 0 || size_class::pages_of(above - 1) < pages);
  };
  for (std::uint32_t pages = 1; pages < 100'000; ++pages) {
    check(pages);
  }
  for (std::uint32_t pages = 1u << 17; pages < 1u << 31; pages += 65'537) {
    check(pages);
  }
  EXPECT_LT(size_class::above(1u << 31), size_class::kCount);
}

}  // namespace
}  // namespace hearth::arena
