// residency_of: a schedule as the residency of a packed plan.
//
// Pure; allocates.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "profile/profile.h"
#include "simulate/schedule.h"
#include "simulate/workload.h"

namespace hearth::policy {

// The home of each tensor of the profile: the pool for what lies there, the slow arena for what is never fast, else
// pages of its own.
std::vector<plan::Home> homes_of(const profile::Profile& profile, const simulate::Workload& workload,
                                 const simulate::Schedule& schedule);

// `plan` has been packed with these homes. Fills in residents, stretches, moves, births and ops.
void residency_of(const profile::Profile& profile, const simulate::Workload& workload,
                  const simulate::Schedule& schedule, plan::Plan& plan);

}  // namespace hearth::policy
