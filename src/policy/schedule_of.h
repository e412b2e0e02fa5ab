// schedule_of: a choice as a schedule: pieces, and the moves that their placements need, at the ops nearest to their
// slots.
#pragma once

#include "policy/search.h"
#include "simulate/schedule.h"

namespace hearth::policy {

// One piece per part, in their order.
simulate::Schedule schedule_of(const simulate::Workload& workload, const Grid& grid, const Parts& parts,
                               const Chosen& chosen, double capacity);

}  // namespace hearth::policy
