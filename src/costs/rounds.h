// Rounds: placements of a whole iteration's objects such that ops are run with the operands slow that are to be.
//
// One round measures many ops: as many as can have their wanted placements side by side, greedily, in the order in
// which they are wanted. Any op with the same key will do.
//
// Pure; allocates.
#pragma once

#include <cstddef>
#include <vector>

#include "costs/cost_table.h"

namespace hearth::costs {

using Round = std::vector<bool>;  // by object of the workload: slow

// Ops with one key.
struct Alike {
  OpKey key;
  std::vector<std::size_t> ops;  // indices of the Keyed
  double self_ns = 0;            // the least of them, as profiled
};

struct Want {
  std::size_t alike = 0;  // index
  Mask slow = 0;
};

std::vector<Round> choose_rounds(const std::vector<Keyed>& ops, const std::vector<Alike>& alike,
                                 std::vector<Want> wants, std::size_t objects);

}  // namespace hearth::costs
