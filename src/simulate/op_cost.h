// OpCost: what an op takes by where its operands lie, as measured, instead of the roofline.
//
// Additive: each object that is slow costs so much, whatever else is. Or exact: a time for each set of slow objects
// (AutoTM, ASPLOS 2020, section 4: 2^n of them), and in between for objects that are slow in part.
//
// A plain value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::simulate {

constexpr std::uint32_t kNotMeasured = 0xffffffffu;

struct OpCost {
  std::vector<std::uint32_t> objects;  // those it matters of; bit i of a mask: the i-th is slow
  double fast_ns = 0;                  // with none of them slow
  std::vector<double> more_ns;         // by object: longer by so much with that one slow
  std::vector<double> table;           // by mask; none is less than one with less of them slow. Empty: additive

  double all_slow_ns() const;
  // `slow` is the share of each object of the workload that is slow, 0..1.
  double ns(std::span<const float> slow) const;
};

}  // namespace hearth::simulate
