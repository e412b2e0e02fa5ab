// Items: what the program places, and the ops whose time depends on it. What makes a program of a real trace small
// enough is done here, each with its price (docs/policies.md):
//   - An op that computes longer than its traffic takes from slow memory drops out, or that was measured not to take
//     longer. Exact. So do the ops that have least to gain, with `neglect` of all that can be gained.
//   - An object that no remaining op uses is slow.
//   - Small objects that live and are used in the same slots are one item: they move together.
//   - A large object is one item of several units, alike but for their place in it: one whole number says how many of
//     them are fast, where a column for each would say which.
//   - Uses that are too close together to leave and come back in between form a cluster.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "autotm/slots.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::autotm {

// An op that uses the item, and by how much longer it takes for each unit that is slow.
struct Visit {
  std::uint32_t op = 0;
  double more_ns = 0;
  std::uint32_t operand = 0;  // of an op whose cost is exact: which of its objects (simulate/op_cost.h)
};

struct Cluster {
  Range slots;  // positions
  bool writes = false;
  std::vector<Visit> visits;
};

struct Item {
  std::vector<std::uint32_t> objects;
  std::uint32_t units = 1;
  double bytes = 0;  // of one unit
  bool resident = false;
  Range life;                          // positions
  std::uint32_t birth = 0, death = 0;  // ops, as of an object; residents are alive in all
  std::vector<Cluster> clusters;       // in order of its life

  bool alive(std::uint32_t op) const {
    if (resident) return true;
    return birth <= death ? birth <= op && op <= death : op >= birth || op <= death;
  }
};

// What an op takes: max(self, slow - what its fast operands save). Measured additively that is all there is to it:
// self = fast. Measured exactly it is what the table says.
struct OpTime {
  double self_ns = 0;
  double slow_ns = 0;  // its traffic with everything slow
  double fast_ns = 0;
  const std::vector<double>* table = nullptr;  // of the workload; by mask of slow operands
  bool counts = false;                         // there is something to gain

  double all_slow() const { return std::max(self_ns, slow_ns); }
};

struct ItemOptions {
  double neglect = 0.002;      // of what all ops can gain together
  double unit_bytes = 0;       // about the size of a unit; 0 = objects are whole and apart
  std::uint32_t units = 12;    // most of one object
  double patience = 1;         // gaps shorter than so many round trips part no clusters; 0: those within one slot
  std::uint32_t clusters = 6;  // most of one item; 0 = any number
  bool writes = false;         // a write makes a cluster also where it gains nothing: it makes the slow copy stale
};

struct Items {
  std::vector<Item> items;
  std::vector<OpTime> ops;
};

Items make_items(const simulate::Workload& workload, const tier::Machine& machine, const Slots& slots,
                 const ItemOptions& options);

// Of one unit.
struct Durations {
  double to_fast = 0, to_slow = 0;  // ns

  Durations(const tier::Machine& machine, double bytes)
      : to_fast(bytes / machine.move_to_fast * 1e9), to_slow(bytes / machine.move_to_slow * 1e9) {}
};

}  // namespace hearth::autotm
