#include "policy/tiered_plan.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "plan/validate.h"
#include "policy/account_of.h"
#include "policy/baselines.h"
#include "policy/ledger.h"
#include "policy/residency_of.h"
#include "policy/sentinel.h"
#include "simulate/simulate.h"

namespace hearth::policy {
namespace {

using plan::Plan;
using simulate::Workload;

constexpr int kRounds = 3;

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::max(value, 0.0)); }

std::uint64_t pool_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const plan::Arena& arena : plan.arenas) bytes += arena.home == plan::Home::fast ? arena.bytes : 0;
  return bytes;
}

Result<simulate::Schedule> schedule(const TierOptions& options, const Workload& workload, const tier::Machine& machine,
                                    double capacity) {
  if (options.other != nullptr) return options.other->make(workload, machine, capacity);
  switch (options.policy) {
    case Policy::sentinel:
      return schedule_sentinel(workload, machine, capacity);
    case Policy::tier_queue:
      return schedule_tier_queue(workload, machine, capacity);
  }
  return Error{"no such policy"};
}

std::string name_of(const TierOptions& options) {
  if (options.other != nullptr) return options.other->name;
  return options.policy == Policy::sentinel ? "sentinel" : "tier-queue";
}

plan::Prediction foresee(const Workload& workload, const tier::Machine& machine, const simulate::Schedule& schedule,
                         Ledger& ledger) {
  const simulate::Outcome outcome = simulate::simulate(workload, machine, schedule, &ledger);
  plan::Prediction foreseen;
  foreseen.step_ns = whole(outcome.step_ns);
  foreseen.all_fast_ns = whole(simulate::all_fast_ns(workload, machine));
  foreseen.all_slow_ns = whole(simulate::all_slow_ns(workload, machine));
  foreseen.first_touch_ns =
      whole(simulate::simulate(workload, machine, schedule_first_touch(workload, schedule.capacity)).step_ns);
  foreseen.stall_ns = whole(outcome.stall_ns);
  foreseen.fast_peak = outcome.fast_peak;
  foreseen.fast_average = whole(outcome.fast_average);
  return foreseen;
}

Result<Plan> make(const profile::Profile& profile, const tier::Machine& machine, const TierOptions& options) {
  simulate::WorkloadOptions looked_at;
  looked_at.min_bytes = options.plan.min_bytes;
  looked_at.step_ns = options.step_ns;
  Workload workload = simulate::make_workload(profile, looked_at);
  if (options.costs) options.costs(workload);
  const auto allowed = static_cast<double>(options.fast_capacity);
  tier::Machine reckoned = machine;
  reckoned.move_to_fast /= options.slower_moves;
  reckoned.move_to_slow /= options.slower_moves;
  double capacity = allowed;
  for (int round = 0;; ++round) {
    Result<simulate::Schedule> made = schedule(options, workload, reckoned, capacity);
    if (!made) return Error{made.error()};
    simulate::Schedule& chosen = *made;
    const std::vector<plan::Home> homes = homes_of(profile, workload, chosen);
    plan::PlanOptions how = options.plan;
    how.home_of = homes;
    Result<Plan> plan = plan::make_plan(profile, how);
    if (!plan) return plan;
    const auto pool = static_cast<double>(pool_bytes(*plan));
    const double beyond = pool - chosen.pool - (allowed - capacity);
    if (beyond > 0 && round + 1 < kRounds) {
      if (options.again) options.again(round + 1, beyond);
      capacity = std::max(0.0, capacity - beyond);
      continue;
    }
    if (pool > allowed) return Error{"no plan: what is used all the time does not fit the fast memory allowed"};
    chosen.pool = pool;
    chosen.capacity = std::max(allowed, 1.0);
    plan->residency.policy = name_of(options);
    plan->residency.machine = machine.name;
    plan->residency.fast_capacity = options.fast_capacity;
    const std::vector<std::uint32_t> stretch_of = residency_of(profile, workload, chosen, *plan);
    Ledger ledger(profile, workload, machine, chosen);
    plan->residency.prediction = foresee(workload, machine, chosen, ledger);
    const auto step_ns = static_cast<double>(plan->residency.prediction.step_ns);
    plan->residency.account = account_of({profile, workload, machine, chosen, stretch_of, step_ns}, ledger);
    return plan;
  }
}

}  // namespace

Result<Plan> tiered_plan(const profile::Profile& profile, const tier::Machine& machine,
                         const TierOptions& options) noexcept {
  try {
    Result<Plan> made = make(profile, machine, options);
    if (!made) return made;
    if (const Result<void> sound = plan::validate(*made); !sound) return Error{"no plan: " + sound.error()};
    return made;
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

}  // namespace hearth::policy
