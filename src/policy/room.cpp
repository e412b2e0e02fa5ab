#include "policy/room.h"

#include <algorithm>

namespace hearth::policy {

bool Room::fits(const std::vector<double>& taken, double capacity, Range range, double bytes) const {
  const double most = capacity - bytes;
  if (most < 0) return range.empty();
  return each_slot(range, grid_->count(), [&](std::uint32_t slot) { return taken[slot] <= most; });
}

void Room::add(std::vector<double>& taken, Range range, double bytes) const {
  each_slot(range, grid_->count(), [&](std::uint32_t slot) {
    taken[slot] += bytes;
    return true;
  });
}

void Room::hold(Range range, double bytes, Placement& placement) {
  add(held_, range, bytes);
  placement.held.push_back(range);
}

void Room::pool(Range range, double bytes, Placement& placement) {
  add(pooled_, range, bytes);
  placement.pooled = true;
  placement.held.push_back(range);
}

double Room::take(Lane lane, std::uint32_t at, double ns, Placement& placement) {
  const std::uint32_t here = at % grid_->count();
  const double free = std::min(grid_->ns(here) - lanes_[lane][here], ns);
  if (free <= 0) return 0;
  lanes_[lane][here] += free;
  placement.taken.push_back({lane, here, free});
  return free;
}

bool Room::early(Lane lane, Range window, double ns, Placement& placement, Range* taken) {
  *taken = {window.from, window.from};
  bool begun = false;
  for (std::uint32_t at = window.from; at < window.to && ns > 0; ++at) {
    const double part = take(lane, at, ns, placement);
    if (part > 0 && !begun) taken->from = at;
    begun |= part > 0;
    ns -= part;
    taken->to = at + 1;
  }
  return ns <= 1e-6;
}

bool Room::late(Lane lane, Range window, double ns, Placement& placement, Range* taken) {
  *taken = {window.to, window.to};
  bool begun = false;
  for (std::uint32_t at = window.to; at > window.from && ns > 0; --at) {
    const double part = take(lane, at - 1, ns, placement);
    if (part > 0 && !begun) taken->to = at;
    begun |= part > 0;
    ns -= part;
    taken->from = at - 1;
  }
  return ns <= 1e-6;
}

void Room::release(Placement& placement, double bytes) {
  std::vector<double>& taken = placement.pooled ? pooled_ : held_;
  for (const Range range : placement.held) add(taken, range, -bytes);
  for (const Placement::Taken& taken_ns : placement.taken) lanes_[taken_ns.lane][taken_ns.slot] -= taken_ns.ns;
  placement = {};
}

void Room::retake(const Placement& placement, double bytes) {
  std::vector<double>& taken = placement.pooled ? pooled_ : held_;
  for (const Range range : placement.held) add(taken, range, bytes);
  for (const Placement::Taken& again : placement.taken) lanes_[again.lane][again.slot] += again.ns;
}

}  // namespace hearth::policy
