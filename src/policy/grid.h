// Grid: the iteration cut into slots of time, in which room on the fast tier and the copy lanes are shared out.
//
// A slot is part of a long op, or several short ones that follow each other. Positions are slots counted from the
// iteration's begin; a life that goes on in the next iteration goes on beyond `count()`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulate/workload.h"

namespace hearth::policy {

// [from, to) in slots; both may lie in a later iteration.
struct Range {
  std::uint32_t from = 0, to = 0;

  bool empty() const { return from >= to; }
};

// Calls each(slot) for each of them, wrapped into one iteration of `count` slots; stops when that returns false.
template <class Each>
bool each_slot(Range range, std::uint32_t count, const Each& each) {
  std::uint32_t slot = range.from % count;
  for (std::uint32_t at = range.from; at < range.to; ++at) {
    if (!each(slot)) return false;
    if (++slot == count) slot = 0;
  }
  return true;
}

class Grid {
 public:
  static constexpr double kSlots = 1024;  // that the iteration's time would make

  Grid() = default;
  // Of ops that run no others inside.
  explicit Grid(const std::vector<double>& op_ns) : Grid(op_ns, op_ns) {}
  // `op_ns`: what each op takes by itself; `lapses`: between the end of the one before it and its own
  // (simulate::lapses).
  Grid(const std::vector<double>& op_ns, const std::vector<double>& lapses)
      : op_ns_(op_ns), slot_of_(op_ns.size() + 1) {
    double total = 0;
    for (const double ns : lapses) total += ns;
    const double most = total / kSlots;
    double open = most + 1;  // of the slot that is still open
    for (std::uint32_t op = 0; op < op_ns.size(); ++op) {
      const auto parts = static_cast<std::uint32_t>(std::clamp(lapses[op] / std::max(most, 1e-9), 1.0, kSlots / 16));
      for (std::uint32_t part = 0; part < parts; ++part) {
        const double ns = lapses[op] / parts;
        if (open + ns > most || parts > 1) {
          first_op_.push_back(op);
          ns_.push_back(0);
          open = 0;
        }
        open += ns;
        ns_.back() += ns;
        if (part == 0) slot_of_[op] = count() - 1;
      }
      if (parts > 1) open = most + 1;
    }
    slot_of_.back() = count();
    first_op_.push_back(static_cast<std::uint32_t>(op_ns.size()));
    begin_ns_.assign(ns_.size() + 1, 0);
    for (std::size_t s = 0; s < ns_.size(); ++s) begin_ns_[s + 1] = begin_ns_[s] + ns_[s];
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(ns_.size()); }
  double ns(std::uint32_t slot) const { return ns_[slot]; }
  double op_ns(std::uint32_t op) const { return op_ns_[op]; }
  double total_ns() const { return begin_ns_.back(); }
  // Of a position, this iteration or a later one.
  double begin_ns(std::uint32_t at) const {
    return at <= count() ? begin_ns_[at] : total_ns() * (at / count()) + begin_ns_[at % count()];
  }
  // The position at which so much time has passed since `from`, at most `to`.
  std::uint32_t after(std::uint32_t from, double ns, std::uint32_t to) const {
    const double wanted = begin_ns(from) + ns;
    std::uint32_t low = from, high = to;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (begin_ns(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  // The last position, at least `from`, from which so much time passes until `to`.
  std::uint32_t before(std::uint32_t to, double ns, std::uint32_t from) const {
    const double wanted = begin_ns(to) - ns;
    std::uint32_t low = from, high = to;
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (begin_ns(middle) > wanted) {
        high = middle - 1;
      } else {
        low = middle;
      }
    }
    return low;
  }
  // The slot in which the op begins; count() for the end of the iteration.
  std::uint32_t slot_of(std::uint32_t op) const { return slot_of_[op]; }
  // Behind the op's last one.
  std::uint32_t end_of(std::uint32_t op) const { return std::max(slot_of_[op + 1], slot_of_[op] + 1); }
  // The op that is running, or begins, as the slot begins.
  std::uint32_t op_at(std::uint32_t slot) const { return first_op_[slot]; }

 private:
  std::vector<double> op_ns_;
  std::vector<std::uint32_t> slot_of_;   // by op, and one for the end
  std::vector<std::uint32_t> first_op_;  // by slot, and one for the end
  std::vector<double> ns_;               // by slot
  std::vector<double> begin_ns_;         // by slot, and one for the end
};

}  // namespace hearth::policy
