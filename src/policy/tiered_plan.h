// tiered_plan: a plan that says on which tier everything lies and what moves: the policy's schedule, made into arenas,
// and packed.
//
// Where packing makes the pool larger than the policy set aside for it, the choice is made again with so much less
// (AutoTM, ASPLOS 2020, section 4: the same loop).
//
// Pure but for the packer's clock; allocates, throws nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "simulate/schedule.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

enum class Policy : std::uint8_t { sentinel, tier_queue };

// A policy of a room above this one.
struct Scheduler {
  std::string name;
  std::function<Result<simulate::Schedule>(const simulate::Workload&, const tier::Machine&, double capacity)> make;
};

struct TierOptions {
  Policy policy = Policy::sentinel;
  const Scheduler* other = nullptr;  // instead of `policy`
  std::uint64_t fast_capacity = 0;   // bytes
  double slower_moves = 1;           // reckons with moves that are so many times slower than the machine's
  double step_ns = 0;                // what an iteration takes with everything fast; 0 = as in the profile
  std::function<void(simulate::Workload&)> costs;  // gives ops the costs that were measured of them
  plan::PlanOptions plan;
  // Told when packing takes so many bytes more than the policy had set aside, and all is done again.
  std::function<void(int round, double bytes)> again;
};

Result<plan::Plan> tiered_plan(const profile::Profile& profile, const tier::Machine& machine,
                               const TierOptions& options) noexcept;

}  // namespace hearth::policy
