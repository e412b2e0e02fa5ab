// sentinel: Hearth's own policy, from a workload to the best schedule that it finds.
//
// After Sentinel (Ren et al., HPCA 2021); docs/policies.md explains the rules. The search (search.h) reckons with the
// time that ops take, and what it chooses changes that time: it is made a few times, each with times nearer to those
// that come of it, and the simulator takes the best.
//
// Pure; allocates.
#pragma once

#include "simulate/schedule.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

simulate::Schedule schedule_sentinel(const simulate::Workload& workload, const tier::Machine& machine, double capacity);

}  // namespace hearth::policy
