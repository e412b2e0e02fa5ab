// Search: places parts so that the iteration takes least time: when each is fast, when it is slow, when it moves.
//
// Sentinel's mechanism (HPCA 2021, sections 3 and 4) as one search over the time of the iteration instead of over
// intervals of one length:
//   - A part is fast or slow in each of its clusters of uses. Between two fast ones it stays, or it is sent away at
//   once
//     and fetched just in time, whichever takes less of what is scarce.
//   - What it takes is reckoned in prices per slot, of fast bytes and of time in the copy lanes. Where more is wanted
//     than there is, prices rise from round to round (a Lagrangian relaxation of the capacities).
//   - In each round parts are placed by what they save for what they take, into room that they really find, so that
//     every round ends with a schedule that keeps capacity and bandwidth. The best round counts.
//   - What that leaves to be gained by placing some parts in another order is looked for at last (improve.h), when what
//     is clean goes back for free where the machine keeps copies. Room that nobody gains by is filled (fill.h).
//   - What a part saves depends on the others: an op with one slow operand left is as slow as that makes it. So savings
//     are reckoned anew as a part comes to the head of the queue.
//
// Deterministic; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/grid.h"
#include "policy/parts.h"
#include "policy/room.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

struct Chosen {
  double step_ns = 0;  // of all ops
  double pool = 0;     // bytes set aside for it
  std::vector<double> op_ns;
  std::vector<Placement> placements;  // by part
};

struct SearchOptions {
  double capacity = 0;   // bytes
  int first_rounds = 6;  // for each size of the pool
  int rounds = 10;       // more of them for the two best sizes
  int tries = 2000;      // of improving the best one
};

Chosen search(const simulate::Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts,
              const SearchOptions& options);

}  // namespace hearth::policy
