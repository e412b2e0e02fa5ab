#include "runtime/waits.h"

#include <gtest/gtest.h>

namespace hearth::runtime {
namespace {

// The fetch comes late until it is decided, and takes so long to be used when it is waited for, or not. How often it
// was late.
int try_out(Waits& waits, std::uint32_t move, std::uint64_t waiting, std::uint64_t going) {
  const std::uint64_t before = waits.decided();
  int late = 0;
  for (std::uint64_t now = 1'000'000; waits.decided() == before && late < 100; now += 1'000'000) {
    const bool stops = waits.late(move, now, true);
    waits.used(move, now + (stops ? waiting : going));
    waits.iteration_closed();
    ++late;
  }
  return late;
}

TEST(Waits, TheQuickerWayIsTakenForEachFetch) {
  Waits waits;
  ASSERT_TRUE(waits.begin(3));
  EXPECT_EQ(try_out(waits, 0, 700, 1000), 6);
  EXPECT_EQ(try_out(waits, 1, 1000, 700), 6);
  EXPECT_TRUE(waits.late(0, 1, true));
  EXPECT_FALSE(waits.late(1, 1, true));
  EXPECT_EQ(waits.decided(), 2u);
  EXPECT_EQ(waits.worth(), 1u);
}

TEST(Waits, AHairsbreadthIsNoReasonToStop) {
  Waits waits;
  ASSERT_TRUE(waits.begin(1));
  try_out(waits, 0, 990, 1000);
  EXPECT_FALSE(waits.late(0, 1, true));
  EXPECT_EQ(waits.worth(), 0u);
}

TEST(Waits, NothingIsTriedBeforeItMay) {
  Waits waits;
  ASSERT_TRUE(waits.begin(1));
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(waits.late(0, 100, false));
    waits.used(0, 200);
  }
  EXPECT_EQ(waits.decided(), 0u);
  // What is decided holds, whether more may be tried or not.
  try_out(waits, 0, 1, 1000);
  EXPECT_TRUE(waits.late(0, 1, false));
}

// One that is not used before the iteration ends tells nothing; nor does one that was in time.
TEST(Waits, OnlyWholeUsesCount) {
  Waits waits;
  ASSERT_TRUE(waits.begin(2));
  for (int i = 0; i < 20; ++i) {
    waits.late(0, 100, true);
    waits.iteration_closed();
    waits.used(0, 5000);
    waits.used(1, 5000);
  }
  EXPECT_EQ(waits.decided(), 0u);
}

TEST(Waits, AnotherPlanBeginsAnew) {
  Waits waits;
  ASSERT_TRUE(waits.begin(1));
  try_out(waits, 0, 1, 1000);
  ASSERT_TRUE(waits.begin(5000));
  EXPECT_EQ(waits.decided(), 0u);
  EXPECT_FALSE(waits.late(0, 1, false));
  EXPECT_EQ(try_out(waits, 4999, 1, 1000), 6);
}

}  // namespace
}  // namespace hearth::runtime
