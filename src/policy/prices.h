// Prices: what a byte of the fast tier costs in each slot, and a nanosecond of each copy lane, in nanoseconds of step
// time. Sums over ranges in constant time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policy/grid.h"

namespace hearth::policy {

class Price {
 public:
  Price() = default;
  Price(std::uint32_t slots, double each) : Price(std::vector<double>(slots, each)) {}
  explicit Price(std::vector<double> each) : price_(std::move(each)), sums_(price_.size() + 1, 0) { sum(); }

  double at(std::uint32_t slot) const { return price_[slot]; }
  double over(Range range) const {
    if (range.empty()) return 0;
    return until(range.to) - until(range.from);
  }
  double total() const { return sums_.back(); }

  // Dearer where more is wanted than there is, cheaper where less is.
  void adjust(const std::vector<double>& wanted, const std::vector<double>& there, double step) {
    const double least = total() / static_cast<double>(price_.size()) * 1e-4;
    for (std::size_t s = 0; s < price_.size(); ++s) {
      const double excess = there[s] > 0 ? std::clamp(wanted[s] / there[s] - 1, -1.0, 2.0) : 0;
      price_[s] = std::max(price_[s] * (1 + step * excess), least);
    }
    sum();
  }

 private:
  double until(std::uint32_t at) const {
    const auto slots = static_cast<std::uint32_t>(price_.size());
    return at <= slots ? sums_[at] : sums_.back() * (at / slots) + sums_[at % slots];
  }
  void sum() {
    for (std::size_t s = 0; s < price_.size(); ++s) sums_[s + 1] = sums_[s] + price_[s];
  }

  std::vector<double> price_;
  std::vector<double> sums_;
};

}  // namespace hearth::policy
