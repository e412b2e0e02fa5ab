// Loops that mark their iterations themselves.
#include <gtest/gtest.h>

#include "unit/iteration/player.h"

namespace hearth::iteration {
namespace {

TEST(Marks, WinOverTheOptimizerFromTheFirstOn) {
  Player loop;
  for (int i = 0; i < 4; ++i) {
    loop.ops_from(100, 10);
    loop.step(7, 900, [] {});
  }
  ASSERT_EQ(loop.detector.source(), Source::optimizer);
  std::uint32_t closed = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(loop.detector.mark_begin());
    EXPECT_EQ(loop.detector.source(), Source::marks);
    for (int inner = 0; inner < 2; ++inner) {
      loop.ops_from(100, 10);
      loop.step(7, 900, [] {});
    }
    if (loop.detector.mark_end()) ++closed;
  }
  EXPECT_EQ(closed, 5u);
  EXPECT_EQ(loop.closed.size(), 4u);  // by the optimizer, before the marks
  EXPECT_EQ(loop.detector.closed().number, 8u);
  EXPECT_EQ(loop.detector.closed().source, Source::marks);
  EXPECT_EQ(loop.detector.closed().consecutive, 5u);
  EXPECT_TRUE(loop.detector.take_retraction());
  EXPECT_FALSE(loop.detector.needs_ops());
}

TEST(Marks, WinOverThePeriod) {
  Player loop;
  for (int i = 0; i < 60; ++i) loop.transients_from(100, 20, 64);
  ASSERT_EQ(loop.detector.source(), Source::period);
  loop.detector.mark_begin();
  loop.closed.clear();
  for (int i = 0; i < 60; ++i) loop.transients_from(100, 20, 64);
  EXPECT_TRUE(loop.closed.empty());
  EXPECT_TRUE(loop.detector.mark_end());
}

TEST(Marks, NestedPairsAndStrayEndsAreCountedAndIgnored) {
  Detector detector;
  ASSERT_TRUE(detector.init(4));
  EXPECT_FALSE(detector.mark_end());
  for (int i = 0; i < 5; ++i) {
    detector.mark_begin();
    detector.mark_begin();
    EXPECT_FALSE(detector.mark_end());
    EXPECT_TRUE(detector.mark_end());
  }
  EXPECT_EQ(detector.odd_marks(), 6u);
}

TEST(Marks, ForgottenEndIsSurvived) {
  Detector detector;
  ASSERT_TRUE(detector.init(4));
  detector.mark_begin();
  int closed = 0;
  for (int i = 0; i < 40; ++i) {
    detector.mark_begin();
    if (detector.mark_end()) ++closed;
  }
  EXPECT_EQ(closed, 25);
}

}  // namespace
}  // namespace hearth::iteration
