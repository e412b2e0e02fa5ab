#include "profile/timeline.h"

#include <algorithm>

namespace hearth::profile {

std::vector<Point> Timeline::take() const {
  if (points_.size() <= kMaxPoints) return points_;
  constexpr std::size_t kSlices = kMaxPoints / 2;
  // + 1, so that the last point falls into the last slice and the division is never by zero.
  const double span = static_cast<double>(points_.back().time_ns) + 1.0;
  std::vector<Point> thinned;
  thinned.reserve(kMaxPoints);
  for (std::size_t i = 0; i < points_.size();) {
    const auto slice = [&](const Point& point) {
      return std::min(kSlices - 1, static_cast<std::size_t>(static_cast<double>(point.time_ns) / span * kSlices));
    };
    const std::size_t current = slice(points_[i]);
    std::size_t highest = i;
    std::size_t end = i;
    for (; end < points_.size() && slice(points_[end]) == current; ++end) {
      if (points_[end].live_bytes > points_[highest].live_bytes) highest = end;
    }
    thinned.push_back(points_[highest]);
    if (highest != end - 1) thinned.push_back(points_[end - 1]);
    i = end;
  }
  return thinned;
}

}  // namespace hearth::profile
