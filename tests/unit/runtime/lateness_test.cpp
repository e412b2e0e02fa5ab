#include "runtime/lateness.h"

#include <gtest/gtest.h>

namespace hearth::runtime {
namespace {

struct Figures {
  std::uint64_t asked, late, late_ns, latest_ns;
  bool operator==(const Figures&) const = default;
};

Figures of(const Lateness& lateness, std::uint32_t move) {
  const report::Punctuality& p = lateness.moves()[move];
  return {p.asked, p.late, p.late_ns, p.latest_ns};
}

TEST(Lateness, WhatIsOverInTimeIsNotLate) {
  Lateness lateness;
  ASSERT_TRUE(lateness.begin(2));
  lateness.asked(1, 100)->store(150);
  lateness.iteration_closed();
  lateness.asked(1, 1100);
  EXPECT_EQ(of(lateness, 1), (Figures{2, 0, 0, 0}));
  EXPECT_EQ(of(lateness, 0), (Figures{0, 0, 0, 0}));
}

TEST(Lateness, LatenessEndsWithTheMove) {
  Lateness lateness;
  ASSERT_TRUE(lateness.begin(1));
  auto* over = lateness.asked(0, 100);
  lateness.overdue(0, 200);
  lateness.overdue(0, 210);
  EXPECT_EQ(of(lateness, 0), (Figures{1, 1, 0, 0})) << "nobody knows yet for how long";
  over->store(230);
  lateness.iteration_closed();
  EXPECT_EQ(of(lateness, 0), (Figures{1, 1, 30, 30}));
  lateness.iteration_closed();
  lateness.asked(0, 1100);
  lateness.overdue(0, 1200);
  over->store(1210);
  lateness.iteration_closed();
  EXPECT_EQ(of(lateness, 0), (Figures{2, 2, 40, 30}));
  EXPECT_EQ(lateness.late_ns(), 40u);
}

// A move at the end of an iteration is asked for again before that one is looked at.
TEST(Lateness, AskedForAgainItWasLateUntilItEnded) {
  Lateness lateness;
  ASSERT_TRUE(lateness.begin(1));
  auto* over = lateness.asked(0, 100);
  lateness.overdue(0, 200);
  lateness.iteration_closed();
  over->store(230);
  lateness.asked(0, 1100);
  EXPECT_EQ(of(lateness, 0), (Figures{2, 1, 30, 30}));
  lateness.overdue(0, 1200);
  lateness.asked(0, 2100);  // the former one is not over even now
  EXPECT_EQ(of(lateness, 0), (Figures{3, 2, 930, 900}));
}

TEST(Lateness, AnEndOfAnEarlierRequestDoesNotCount) {
  Lateness lateness;
  ASSERT_TRUE(lateness.begin(1));
  auto* over = lateness.asked(0, 100);
  lateness.asked(0, 1100);
  over->store(1150);  // of the first one
  lateness.overdue(0, 1200);
  lateness.iteration_closed();
  EXPECT_EQ(of(lateness, 0), (Figures{2, 1, 0, 0}));
  over->store(1300);
  lateness.iteration_closed();
  EXPECT_EQ(of(lateness, 0), (Figures{2, 1, 100, 100}));
}

TEST(Lateness, BeginsAnew) {
  Lateness lateness;
  ASSERT_TRUE(lateness.begin(1));
  lateness.asked(0, 100);
  lateness.overdue(0, 200);
  lateness.restart();
  EXPECT_EQ(of(lateness, 0), (Figures{0, 0, 0, 0}));
  ASSERT_TRUE(lateness.begin(100000));
  auto* over = lateness.asked(99999, 100);
  lateness.overdue(99999, 200);
  over->store(201);
  lateness.iteration_closed();
  EXPECT_EQ(of(lateness, 99999), (Figures{1, 1, 1, 1}));
  EXPECT_EQ(of(lateness, 0), (Figures{0, 0, 0, 0}));
  EXPECT_EQ(lateness.late_ns(), 1u);
}

}  // namespace
}  // namespace hearth::runtime
