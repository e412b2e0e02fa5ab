// residency_of: a schedule as the residency of a packed plan.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "profile/profile.h"
#include "simulate/schedule.h"
#include "simulate/workload.h"

namespace hearth::policy {

constexpr std::uint32_t kNoStretch = 0xffffffffu;

// The home of each tensor of the profile: the pool for what lies there, the slow arena for what is never fast, else
// pages of its own.
std::vector<plan::Home> homes_of(const profile::Profile& profile, const simulate::Workload& workload,
                                 const simulate::Schedule& schedule);

// `plan` has been packed with these homes. Fills in residents, stretches, moves, births and ops. The stretch of each
// piece; kNoStretch for one that shares an arena, or is a resident that is fast all the time.
std::vector<std::uint32_t> residency_of(const profile::Profile& profile, const simulate::Workload& workload,
                                        const simulate::Schedule& schedule, plan::Plan& plan);

}  // namespace hearth::policy
