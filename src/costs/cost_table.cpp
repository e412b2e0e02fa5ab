#include "costs/cost_table.h"

#include <algorithm>

namespace hearth::costs {

void Measured::add(double ns) {
  if (samples_.empty() && count_ != 0) return;
  samples_.push_back(ns);
}

double Measured::ns() const {
  if (samples_.empty()) return ns_;
  std::vector<double> sorted = samples_;
  const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 4);
  std::nth_element(sorted.begin(), quarter, sorted.end());
  return *quarter;
}

std::optional<double> CostTable::ns(const OpKey& key, Mask slow) const {
  const auto op = ops_.find(key);
  if (op == ops_.end()) return std::nullopt;
  const auto found = op->second.find(slow);
  if (found == op->second.end()) return std::nullopt;
  return found->second.ns();
}

std::size_t CostTable::placements() const {
  std::size_t sum = 0;
  for (const auto& [key, placements] : ops_) sum += placements.size();
  return sum;
}

}  // namespace hearth::costs
