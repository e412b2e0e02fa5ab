// Slots: the ops of an iteration in runs, within which nothing moves and room is asked for once. A long op is a slot of
// its own. Positions are slots counted from the iteration's begin; a life that goes on in the next iteration goes on
// beyond count().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policy/grid.h"

namespace hearth::autotm {

using policy::Range;

class Slots {
 public:
  Slots() = default;
  // About `most` of them, each op one of its own if there are no more than that. `lapses`: of the ops
  // (simulate::lapses).
  Slots(const std::vector<double>& lapses, std::uint32_t most) {
    double total = 0;
    for (const double ns : lapses) total += ns;
    const double wanted = lapses.size() <= most ? 0 : total / most;
    for (std::uint32_t op = 0; op < lapses.size(); ++op) {
      if (op == 0 || ns_.back() + lapses[op] > wanted) {
        first_op_.push_back(op);
        ns_.push_back(0);
      }
      ns_.back() += lapses[op];
      slot_of_.push_back(count() - 1);
    }
    slot_of_.push_back(count());
    first_op_.push_back(static_cast<std::uint32_t>(lapses.size()));
    begin_ns_.assign(ns_.size() + 1, 0);
    for (std::size_t s = 0; s < ns_.size(); ++s) begin_ns_[s + 1] = begin_ns_[s] + ns_[s];
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(ns_.size()); }
  std::uint32_t slot_of(std::uint32_t op) const { return slot_of_[op]; }  // of the iteration's end: count()
  std::uint32_t first_op(std::uint32_t slot) const { return first_op_[slot]; }
  double ns(std::uint32_t at) const { return ns_[at % count()]; }
  double begin_ns(std::uint32_t at) const {
    return at <= count() ? begin_ns_[at] : begin_ns_.back() * (at / count()) + begin_ns_[at % count()];
  }
  double ns(Range range) const { return range.empty() ? 0 : begin_ns(range.to) - begin_ns(range.from); }

 private:
  std::vector<std::uint32_t> slot_of_;   // by op, and one for the end
  std::vector<std::uint32_t> first_op_;  // by slot, and one for the end
  std::vector<double> ns_;               // by slot
  std::vector<double> begin_ns_;         // by slot, and one for the end
};

}  // namespace hearth::autotm
