// sweep: how long an iteration takes with so much fast memory, by policy and by the simulator: what the next gigabyte
// of DRAM would bring, before it is bought.
//
// Pure; allocates. Some tenths of a second for each capacity.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/tiered_plan.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

struct SweepPoint {
  std::uint64_t fast_bytes = 0;
  std::vector<double> step_ns;  // by policy
  // Under the last policy:
  double moved_bytes = 0;   // of an iteration, both ways
  double slow_bytes = 0;    // that its ops use on the slow tier
  double fast_average = 0;  // bytes, over time
};

struct Sweep {
  std::vector<std::string> policies;  // the best one last
  double all_fast_ns = 0, all_slow_ns = 0;
  std::vector<SweepPoint> points;  // as the capacities came

  // The first point, of ascending ones, at which the last policy is within `loss` of everything fast; points.size() if
  // none is.
  std::size_t knee(double loss) const;
};

// Hearth's own policies, and behind them `other` if there is one. `each` is told after every point: how many are done.
Result<Sweep> sweep(const simulate::Workload& workload, const tier::Machine& machine,
                    const std::vector<std::uint64_t>& capacities, const Scheduler* other,
                    const std::function<void(std::size_t)>& each);

}  // namespace hearth::policy
