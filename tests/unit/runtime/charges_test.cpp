#include "runtime/charges.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hearth::runtime {
namespace {

tier::Traffic read(std::uint64_t bytes) {
  tier::Traffic traffic;
  traffic.slow_read = bytes;
  return traffic;
}

class ChargesTest : public testing::Test {
 protected:
  // Of the innermost op; what it has to pay for.
  Charges::Bill end(std::uint32_t depth, std::uint64_t now_ns) {
    const Charges::Bill bill = charges_->end(depth);
    charges_->ended(depth, now_ns);
    return bill;
  }

  std::unique_ptr<Charges> charges_ = std::make_unique<Charges>();
  int a_ = 0, b_ = 0, c_ = 0;
};

TEST_F(ChargesTest, AnOpPaysForItsOperands) {
  charges_->begin(0, 100, 7);
  charges_->operand(0, &a_, read(10));
  charges_->operand(0, &b_, read(5));
  const Charges::Bill bill = end(0, 200);
  EXPECT_EQ(bill.moved_ns, 7u);
  EXPECT_EQ(bill.traffic.slow_read, 15u);
  EXPECT_EQ(bill.begin_ns, 100u);
  EXPECT_EQ(bill.inner_ns, 0u);
}

TEST_F(ChargesTest, OneStorageTwiceComesFromMemoryOnce) {
  tier::Traffic written;
  written.slow_write = 10;
  charges_->begin(0, 100, 0);
  charges_->operand(0, &a_, read(4));  // a part of it
  charges_->operand(0, &b_, read(5));
  charges_->operand(0, &a_, written);
  charges_->operand(0, &a_, read(10));  // a.addcmul_(b, a)
  const tier::Traffic traffic = end(0, 200).traffic;
  EXPECT_EQ(traffic.slow_read, 15u);
  EXPECT_EQ(traffic.slow_write, 10u);
}

TEST_F(ChargesTest, LargeTensorsAreToldApart) {
  // Addresses as the arena gives them to tensors of 16 MiB: multiples of their size.
  const auto tensor = [](std::uintptr_t i) {
    return reinterpret_cast<const void*>((std::uintptr_t{1} << 44) + (i << 24));
  };
  for (std::uintptr_t i = 0; i < 64; i += 2) {
    charges_->begin(0, 1, 0);  // clone()
    charges_->operand(0, tensor(i), read(1));
    charges_->begin(1, 2, 0);  // copy_(), inside it
    charges_->operand(1, tensor(i + 1), read(1));
    charges_->operand(1, tensor(i), read(1));
    EXPECT_EQ(end(1, 3).traffic.slow_read, 2u);
    charges_->operand(0, tensor(i + 1), read(1));  // returned by both
    EXPECT_EQ(end(0, 4).traffic.slow_read, 0u) << i;
  }
}

TEST_F(ChargesTest, WhatAnOpInsideAnnouncesAsWellWasHandedOn) {
  charges_->begin(0, 100, 0);
  charges_->operand(0, &a_, read(10));
  charges_->operand(0, &b_, read(5));
  charges_->begin(1, 110, 0);
  charges_->operand(1, &a_, read(7));
  charges_->operand(1, &c_, read(1));
  EXPECT_EQ(end(1, 150).traffic.slow_read, 8u);
  charges_->operand(0, &c_, read(1));  // returned by both
  const Charges::Bill bill = end(0, 170);
  EXPECT_EQ(bill.traffic.slow_read, 5u);
  EXPECT_EQ(bill.inner_ns, 40u);
}

TEST_F(ChargesTest, OpsBesideEachOtherPayEach) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    charges_->begin(0, 100 * (i + 1), 0);
    charges_->operand(0, &a_, read(10));
    EXPECT_EQ(end(0, 100 * (i + 1) + 50).traffic.slow_read, 10u);
  }
}

TEST_F(ChargesTest, ListsAreHandedOnOneByOneHoweverLong) {
  std::vector<int> list(3 * Charges::kOperands);
  charges_->begin(0, 1, 0);
  for (int& each : list) charges_->operand(0, &each, read(1));
  std::uint64_t inside = 0;
  for (int& each : list) {
    charges_->begin(1, 2, 0);
    charges_->operand(1, &each, read(1));
    inside += end(1, 3).traffic.slow_read;
  }
  EXPECT_EQ(inside, list.size());
  EXPECT_EQ(end(0, 4).traffic.slow_read, 0u);
}

TEST_F(ChargesTest, ScratchIsPaidForOnce) {
  charges_->begin(0, 1, 0);
  charges_->allocated(0, &a_);
  EXPECT_FALSE(charges_->is_scratch(0, &b_));
  ASSERT_TRUE(charges_->is_scratch(0, &a_));
  charges_->scratch(0, read(4));
  EXPECT_FALSE(charges_->is_scratch(0, &a_));
  EXPECT_EQ(end(0, 2).traffic.slow_read, 4u);
  charges_->begin(0, 3, 0);
  EXPECT_EQ(end(0, 4).traffic.slow_read, 0u);
}

TEST_F(ChargesTest, WhatBeganBeforeOrTooDeepPaysNothing) {
  charges_->operand(0, &a_, read(10));
  EXPECT_EQ(end(0, 10).begin_ns, 0u);
  charges_->begin(Charges::kDepth, 1, 0);
  charges_->operand(Charges::kDepth, &a_, read(10));
  EXPECT_EQ(end(Charges::kDepth, 2).traffic.slow_read, 0u);
}

}  // namespace
}  // namespace hearth::runtime
