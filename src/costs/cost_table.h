// CostTable: what ops have been measured to take, by key and placement: which of the operands are slow.
//
// A plain value; allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "costs/op_key.h"

namespace hearth::costs {

using Mask = std::uint32_t;  // bit i: operand i is slow

constexpr Mask all_slow(std::size_t operands) { return (Mask{1} << operands) - 1; }

class Measured {
 public:
  Measured() = default;
  Measured(double ns, std::uint32_t count) : ns_(ns), count_(count) {}  // as read from a file

  // More of what was measured in this process; what is from a file stays as it is.
  void add(double ns);
  // The lower quartile: whatever else goes on on a machine makes ops longer, and never quicker.
  double ns() const;
  std::uint32_t count() const { return samples_.empty() ? count_ : static_cast<std::uint32_t>(samples_.size()); }

 private:
  double ns_ = 0;
  std::uint32_t count_ = 0;
  std::vector<double> samples_;
};

using Placements = std::map<Mask, Measured>;

class CostTable {
 public:
  void add(const OpKey& key, Mask slow, double ns) { ops_[key][slow].add(ns); }
  void set(const OpKey& key, Mask slow, Measured measured) { ops_[key][slow] = std::move(measured); }
  // Nothing if it has not been measured.
  std::optional<double> ns(const OpKey& key, Mask slow) const;

  const std::map<OpKey, Placements>& ops() const { return ops_; }
  std::size_t placements() const;

 private:
  std::map<OpKey, Placements> ops_;
};

}  // namespace hearth::costs
