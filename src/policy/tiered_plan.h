// tiered_plan: a plan that says on which tier everything lies: the policy's choice, made into arenas, packed, and cut
// down until it fits.
//
// Entries that lie fast have an arena of their own, and so have those that lie slow, so that no page has tenants of
// both kinds. The fast arena's height counts against the capacity, not what lives in it: where packing needs more than
// the timeline foresaw, the choice is made again with so much less (AutoTM, ASPLOS 2020, section 4: the same loop).
//
// Pure but for the packer's clock; allocates, throws nothing.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "tier/machine.h"

namespace hearth::policy {

struct TierOptions {
  std::uint64_t fast_capacity = 0;  // bytes
  double step_ns = 0;               // what an iteration takes with everything fast; 0 = as in the profile
  plan::PlanOptions plan;
};

Result<plan::Plan> tiered_plan(const profile::Profile& profile, const tier::Machine& machine,
                               const TierOptions& options) noexcept;

}  // namespace hearth::policy
