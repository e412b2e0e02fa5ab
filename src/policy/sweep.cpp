#include "policy/sweep.h"

#include "policy/baselines.h"
#include "policy/sentinel.h"
#include "simulate/simulate.h"

namespace hearth::policy {

std::size_t Sweep::knee(double loss) const {
  std::size_t at = 0;
  while (at < points.size() && points[at].step_ns[kSweptPolicies - 1] > all_fast_ns * (1 + loss)) ++at;
  return at;
}

Sweep sweep(const simulate::Workload& workload, const tier::Machine& machine,
            const std::vector<std::uint64_t>& capacities, const std::function<void(std::size_t)>& each) {
  Sweep swept;
  swept.all_fast_ns = simulate::all_fast_ns(workload, machine);
  swept.all_slow_ns = simulate::all_slow_ns(workload, machine);
  for (const std::uint64_t bytes : capacities) {
    const auto capacity = static_cast<double>(bytes);
    const simulate::Schedule schedules[kSweptPolicies] = {
        schedule_first_touch(workload, capacity), schedule_interleave(workload, capacity),
        schedule_tier_queue(workload, machine, capacity), schedule_sentinel(workload, machine, capacity)};
    SweepPoint point;
    point.fast_bytes = bytes;
    for (std::size_t i = 0; i < kSweptPolicies; ++i) {
      const simulate::Outcome outcome = simulate::simulate(workload, machine, schedules[i]);
      point.step_ns[i] = outcome.step_ns;
      if (i + 1 != kSweptPolicies) continue;
      point.moved_bytes = outcome.moved_to_fast + outcome.moved_to_slow;
      point.slow_bytes = outcome.slow_bytes;
      point.fast_average = outcome.fast_average;
    }
    swept.points.push_back(point);
    each(swept.points.size());
  }
  return swept;
}

}  // namespace hearth::policy
