// Timeline: how much of the fast tier is taken at every moment of an iteration, to ask whether one more object fits.
// Coarse: the clock of births and deaths is cut into slots, and an object takes every slot it is alive in for a moment,
// so what fits here fits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulate/workload.h"

namespace hearth::policy {

class Timeline {
 public:
  static constexpr std::uint32_t kSlots = 2048;

  Timeline(std::uint32_t period, double capacity)
      : period_(std::max(period, 1u)), capacity_(capacity), taken_(std::min(period_, kSlots), 0.0) {}

  // The bytes that an object alive then could still take.
  double room(const simulate::Object& object) const {
    double most = 0;
    each_slot(object, [&](std::size_t slot) { most = std::max(most, taken_[slot]); });
    return capacity_ - most;
  }
  void take(const simulate::Object& object, double bytes) {
    each_slot(object, [&](std::size_t slot) { taken_[slot] += bytes; });
  }
  // Of the iteration: the share of slots that the object is alive in.
  double share(const simulate::Object& object) const {
    std::size_t slots = 0;
    each_slot(object, [&](std::size_t) { ++slots; });
    return static_cast<double>(slots) / static_cast<double>(taken_.size());
  }

 private:
  template <class Each>
  void each_slot(const simulate::Object& object, const Each& each) const {
    std::size_t next = 0;
    // The part that comes first in time is the second span, where there is one.
    for (const simulate::Span& span : {object.alive[1], object.alive[0]}) {
      if (span.from >= span.to) continue;
      const std::size_t count = taken_.size();
      const std::size_t from = std::max(next, std::size_t{span.from} * count / period_);
      const std::size_t to = std::min(count, (std::size_t{span.to} * count + period_ - 1) / period_);
      for (std::size_t slot = from; slot < to; ++slot) each(slot);
      next = std::max(next, to);
    }
  }

  std::uint32_t period_;
  double capacity_;
  std::vector<double> taken_;
};

}  // namespace hearth::policy
