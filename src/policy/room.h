// Room: what is taken, slot by slot, of the fast tier and of the two copy lanes.
//
// The fast tier is divided: a pool, whose pages stay fast whoever lies on them and which nothing leaves alive
// (Sentinel's reserved space for short-lived tensors, HPCA 2021, section 4), and the rest, where parts come and go.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/grid.h"

namespace hearth::policy {

enum Lane : std::uint8_t { kToFast = 0, kToSlow = 1 };

// A move as it has been fitted into its lane.
struct Transfer {
  Lane lane = kToFast;
  Range slots;         // from the first slot it takes to after the last one; positions of a life
  bool clean = false;  // takes none, at the first's begin
};

// Where a part lies, and what that takes.
struct Placement {
  bool pooled = false;
  bool born_fast = false;
  std::vector<Range> held;  // fast, in slots of this iteration
  std::vector<Transfer> transfers;
  struct Taken {
    Lane lane;
    std::uint32_t slot;
    double ns;
  };
  std::vector<Taken> taken;

  bool slow() const { return held.empty() && !pooled; }
};

class Room {
 public:
  Room(const Grid& grid, double capacity, double pool)
      : grid_(&grid), capacity_(capacity - pool), pool_(pool), held_(grid.count(), 0), pooled_(grid.count(), 0) {
    for (std::vector<double>& lane : lanes_) lane.assign(grid.count(), 0);
  }

  // Room for so many bytes in all of the range?
  bool fits(Range range, double bytes) const { return fits(held_, capacity_, range, bytes); }
  bool fits_pool(Range range, double bytes) const { return fits(pooled_, pool_, range, bytes); }

  void hold(Range range, double bytes, Placement& placement);
  void pool(Range range, double bytes, Placement& placement);
  // As early as the lane is free within the window; false if it is not for long enough.
  bool early(Lane lane, Range window, double ns, Placement& placement, Range* taken);
  // As late as can be.
  bool late(Lane lane, Range window, double ns, Placement& placement, Range* taken);
  // Takes back all of it.
  void release(Placement& placement, double bytes);
  // Takes again what was released.
  void retake(const Placement& placement, double bytes);

 private:
  bool fits(const std::vector<double>& taken, double capacity, Range range, double bytes) const;
  void add(std::vector<double>& taken, Range range, double bytes) const;
  double take(Lane lane, std::uint32_t at, double ns, Placement& placement);

  const Grid* grid_;
  double capacity_, pool_;
  std::vector<double> held_, pooled_;
  std::vector<double> lanes_[2];
};

}  // namespace hearth::policy
