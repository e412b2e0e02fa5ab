// Timeline: live bytes over the iteration, from all births and deaths, thinned to what a plot can show. Part of
// build().
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

class Timeline {
 public:
  static constexpr std::size_t kMaxPoints = 1000;

  void add(std::uint64_t time_ns, std::uint64_t live_bytes) { points_.push_back({time_ns, live_bytes}); }
  // A tensor that was alive already: the level at which the iteration begins.
  void add_initial(std::uint64_t time_ns, std::uint64_t live_bytes) {
    if (points_.empty()) points_.push_back({0, 0});
    if (points_.size() == 1 && points_[0].time_ns == 0)
      points_[0].live_bytes = live_bytes;
    else
      add(time_ns, live_bytes);
  }
  // At most kMaxPoints points in order of time: per slice of time the highest and the last, so no peak is lost.
  std::vector<Point> take() const;

 private:
  std::vector<Point> points_;
};

}  // namespace hearth::profile
