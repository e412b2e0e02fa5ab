// simulate: how long one iteration takes in steady state when each object lies where it lies.
//
// The compute lane runs the ops one after the other; an op that touches slow memory takes max(its own time, the time of
// its traffic), the roofline that the emulated backend charges too (tier/charge.h). Pure and deterministic; linear in
// the uses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::simulate {

struct Outcome {
  double step_ns = 0;
  double slow_bytes = 0;        // that ops read and wrote on the slow tier
  std::uint64_t fast_peak = 0;  // bytes of live objects
  double fast_average = 0;      // over the clock of births and deaths
};

// What an op takes. `slow` is the share of each object that is slow, 0..1.
double op_ns(const Workload& workload, const tier::Machine& machine, const Op& op, std::span<const float> slow);

Outcome simulate(const Workload& workload, const tier::Machine& machine, std::span<const float> slow);

}  // namespace hearth::simulate
