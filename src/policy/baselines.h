// What users have today, as schedules for the simulator, and as plans where they need one.
//
// Pure; allocate.
#pragma once

#include "simulate/schedule.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

simulate::Schedule schedule_all(const simulate::Workload& workload, tier::Tier tier);

// Fast as long as there is room at the moment of birth, for as many pages as there is; never moved. Residents, which
// are oldest, come first.
simulate::Schedule schedule_first_touch(const simulate::Workload& workload, double capacity);

// The same share of everything.
simulate::Schedule schedule_interleave(const simulate::Workload& workload, double capacity);

// In the manner of TierTrain: born fast where there is room; what will not be used for long leaves right after its last
// use in the forward pass, first come first served, and is fetched in the order in which the backward pass wants it,
// each so long before that twice the copy's time is left. Weights and optimizer state stay where first touch puts them,
// or all in slow memory, whichever the simulator finds quicker.
simulate::Schedule schedule_tier_queue(const simulate::Workload& workload, const tier::Machine& machine,
                                       double capacity);

}  // namespace hearth::policy
