#include "costs/form.h"

#include <gtest/gtest.h>

#include <functional>

namespace hearth::costs {
namespace {

tier::Machine machine() {
  tier::Machine m;
  m.fast = {.read = 10e9, .write = 10e9};
  m.slow = {.read = 1e9, .write = 1e9};
  return m;
}

OpKey key(std::size_t operands) {
  OpKey made{.op = "aten::add", .operands = {}, .other_bytes = 0};
  for (std::size_t i = 0; i < operands; ++i) made.operands.push_back({1 << 20, 0});
  return made;
}

// Measures whatever is missing, until nothing is. How many placements that took.
std::size_t complete(const OpKey& op, CostTable& table, const std::function<double(Mask)>& ns) {
  std::size_t measured = 0;
  for (Form form = form_of(op, table, machine(), 1e5); !form.missing.empty();
       form = form_of(op, table, machine(), 1e5)) {
    for (const Mask mask : form.missing) table.add(op, mask, ns(mask));
    measured += form.missing.size();
  }
  return measured;
}

double count(Mask mask) { return __builtin_popcount(mask); }

TEST(Form, ExtrasThatAddUpNeedTheSinglePlacementsOnly) {
  CostTable table;
  const OpKey op = key(4);
  EXPECT_EQ(complete(op, table, [](Mask mask) { return 1e5 + 5e4 * count(mask); }), 6u);
  const Form form = form_of(op, table, machine(), 1e5);
  EXPECT_EQ(form.kind, Kind::additive);
  EXPECT_EQ(form.more_ns, std::vector<double>(4, 5e4));
  EXPECT_DOUBLE_EQ(form.error(), 0);
}

// The roofline of an op that computes for a while.
TEST(Form, WhatDoesNotAddUpIsMeasuredInAllPlacements) {
  CostTable table;
  const OpKey op = key(3);
  const auto roofline = [](Mask mask) { return std::max(4e5, 3e5 * count(mask)); };
  EXPECT_EQ(complete(op, table, roofline), 8u);
  const Form form = form_of(op, table, machine(), 1e5);
  ASSERT_EQ(form.kind, Kind::exact);
  for (Mask mask = 0; mask < 8; ++mask) EXPECT_DOUBLE_EQ(form.table[mask], roofline(mask));
  EXPECT_NEAR(form.error(), (4e5 - 9e5) / 9e5, 1e-9);
}

TEST(Form, WithTooManyOperandsTheRooflineIsLeft) {
  CostTable table;
  const OpKey op = key(5);
  EXPECT_EQ(complete(op, table, [](Mask mask) { return std::max(4e5, 3e5 * count(mask)); }), 7u);
  EXPECT_EQ(form_of(op, table, machine(), 1e5).kind, Kind::neither);
}

// An op that was interrupted where one operand lay slow took no less with both slow.
TEST(Form, NoiseThatShowsIsTakenOut) {
  CostTable table;
  for (const auto& [mask, ns] : {std::pair<Mask, double>{0, 1e5}, {1, 2e5}, {2, 9e5}, {3, 3e5}}) {
    table.add(key(2), mask, ns);
  }
  const Form form = form_of(key(2), table, machine(), 1e5);
  ASSERT_EQ(form.kind, Kind::exact);
  EXPECT_EQ(form.table, (std::vector<double>{1e5, 2e5, 3e5, 3e5}));
}

TEST(Form, OneOperandNeedsNoCheck) {
  CostTable table;
  EXPECT_EQ(complete(key(1), table, [](Mask mask) { return mask == 0 ? 1e5 : 9e5; }), 2u);
  const Form form = form_of(key(1), table, machine(), 1e5);
  EXPECT_EQ(form.kind, Kind::additive);
  EXPECT_EQ(form.more_ns, std::vector<double>{8e5});
  EXPECT_FALSE(form.checked());
}

// A small operand of a long op is lost in what its time varies by.
TEST(Form, WhatCannotShowCostsNothing) {
  OpKey op = key(2);
  op.operands[1].read = 4096;
  CostTable table;
  table.add(op, 0, 1e7);
  EXPECT_EQ(form_of(op, table, machine(), 0).operands, std::vector<std::uint32_t>{0});
  EXPECT_EQ(form_of(op, {}, machine(), 1e7).operands, std::vector<std::uint32_t>{0});
  EXPECT_EQ(form_of(op, {}, machine(), 1e9).operands, std::vector<std::uint32_t>{});
}

TEST(CostTable, QuartilesOfThisCallAndOnesFromAFile) {
  CostTable table;
  for (const double ns : {9.0, 1.0, 3.0, 2.0, 8.0}) table.add(key(1), 1, ns);
  EXPECT_EQ(table.ns(key(1), 1), 2);
  EXPECT_EQ(table.ops().begin()->second.at(1).count(), 5u);
  table.set(key(1), 0, Measured(7, 12));
  table.add(key(1), 0, 1000);  // what is known stays
  EXPECT_EQ(table.ns(key(1), 0), 7);
  EXPECT_EQ(table.placements(), 2u);
  EXPECT_FALSE(table.ns(key(2), 0));
}

}  // namespace
}  // namespace hearth::costs
