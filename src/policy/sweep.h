// sweep: how long an iteration takes with so much fast memory, by policy and by the simulator: what the next gigabyte
// of DRAM would bring, before it is bought.
//
// Pure; allocates. Some tenths of a second for each capacity.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

constexpr const char* kSwept[] = {"first-touch", "interleave", "tier-queue", "sentinel"};
constexpr std::size_t kSweptPolicies = 4;

struct SweepPoint {
  std::uint64_t fast_bytes = 0;
  double step_ns[kSweptPolicies] = {};
  double moved_bytes = 0;   // of an iteration under sentinel, both ways
  double slow_bytes = 0;    // that its ops use on the slow tier
  double fast_average = 0;  // bytes, over time
};

struct Sweep {
  double all_fast_ns = 0, all_slow_ns = 0;
  std::vector<SweepPoint> points;  // as the capacities came

  // The first point, of ascending ones, at which sentinel is within `loss` of everything fast; points.size() if none
  // is.
  std::size_t knee(double loss) const;
};

// `each` is told after every point: how many are done.
Sweep sweep(const simulate::Workload& workload, const tier::Machine& machine,
            const std::vector<std::uint64_t>& capacities, const std::function<void(std::size_t)>& each);

}  // namespace hearth::policy
