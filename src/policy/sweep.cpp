#include "policy/sweep.h"

#include <utility>

#include "policy/baselines.h"
#include "policy/sentinel.h"
#include "simulate/simulate.h"

namespace hearth::policy {

std::size_t Sweep::knee(double loss) const {
  std::size_t at = 0;
  while (at < points.size() && points[at].step_ns.back() > all_fast_ns * (1 + loss)) ++at;
  return at;
}

Result<Sweep> sweep(const simulate::Workload& workload, const tier::Machine& machine,
                    const std::vector<std::uint64_t>& capacities, const Scheduler* other,
                    const std::function<void(std::size_t)>& each) {
  Sweep swept;
  swept.policies = {"first-touch", "interleave", "tier-queue", "sentinel"};
  if (other != nullptr) swept.policies.push_back(other->name);
  swept.all_fast_ns = simulate::all_fast_ns(workload, machine);
  swept.all_slow_ns = simulate::all_slow_ns(workload, machine);
  for (const std::uint64_t bytes : capacities) {
    const auto capacity = static_cast<double>(bytes);
    std::vector<simulate::Schedule> schedules = {
        schedule_first_touch(workload, capacity), schedule_interleave(workload, capacity),
        schedule_tier_queue(workload, machine, capacity), schedule_sentinel(workload, machine, capacity)};
    if (other != nullptr) {
      Result<simulate::Schedule> made = other->make(workload, machine, capacity);
      if (!made) return Error{made.error()};
      schedules.push_back(std::move(*made));
    }
    SweepPoint point;
    point.fast_bytes = bytes;
    for (const simulate::Schedule& schedule : schedules) {
      const simulate::Outcome outcome = simulate::simulate(workload, machine, schedule);
      point.step_ns.push_back(outcome.step_ns);
      point.moved_bytes = outcome.moved_to_fast + outcome.moved_to_slow;
      point.slow_bytes = outcome.slow_bytes;
      point.fast_average = outcome.fast_average;
    }
    swept.points.push_back(std::move(point));
    each(swept.points.size());
  }
  return swept;
}

}  // namespace hearth::policy
