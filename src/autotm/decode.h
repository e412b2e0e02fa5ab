// decode: where the units of items lie and when they move, out of a solution's values, as a schedule; and the way back,
// out of a schedule as values to start from.
//
// Pure; allocate.
#pragma once

#include <vector>

#include "autotm/formulate.h"
#include "simulate/schedule.h"

namespace hearth::autotm {

// One piece for each unit of each object; objects that are no item's are slow.
simulate::Schedule decode(const simulate::Workload& workload, const Slots& slots, const Items& items,
                          const Formula& formula, const std::vector<double>& values, double capacity);

// As near to the schedule as the program's rows permit; what they leave room for then is fast for life. Feasible
// whatever the schedule is.
std::vector<double> values_like(const simulate::Workload& workload, const Slots& slots, const Items& items,
                                const Formula& formula, const simulate::Schedule& schedule, Mode mode);

// What each op takes where the schedule's moves are over when they are due.
std::vector<double> op_times(const simulate::Workload& workload, const tier::Machine& machine,
                             const simulate::Schedule& schedule);

}  // namespace hearth::autotm
