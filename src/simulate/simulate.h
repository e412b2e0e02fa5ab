// simulate: how long one iteration takes in steady state under a schedule.
//
// An event model. The compute lane runs the ops one after the other; an op takes max(its own time, the time of its
// traffic at the tiers' bandwidths), the roofline that the emulated backend charges too (tier/charge.h), or what was
// measured of it (op_cost.h). Operands count where they lie as the op begins, or as they are born. One copy lane
// per direction carries the moves in the order in which they are asked for, at the machine's move bandwidth; a fetch
// waits until what leaves has made room. An operand that has not arrived is used where it is. Moves under way make ops
// that are bound by memory longer by the machine's `interference`.
//
// Pure and deterministic; linear in uses, moves log moves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/schedule.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::simulate {

struct Outcome {
  double step_ns = 0;
  double stall_ns = 0;       // of it, waiting for moves
  double slow_bytes = 0;     // that ops read and wrote on the slow tier
  double moved_to_fast = 0;  // bytes, without dead ones
  double moved_to_slow = 0;
  std::uint32_t late = 0;       // moves not over when they were due
  std::uint64_t fast_peak = 0;  // bytes of pieces on the fast tier while their objects are alive
  double fast_average = 0;      // over time
};

// Sees the iteration that counts go by. All of it comes from simulate(), on its thread.
class Watcher {
 public:
  // So much of the piece is fast from here on; of all pieces once before the first op.
  virtual void lies(std::uint32_t piece, double fast_bytes, double now_ns) = 0;
  // An op of the workload has run, while so much of each object was slow.
  virtual void ran(std::uint32_t op, double begin_ns, double end_ns, std::span<const float> slow) = 0;
  virtual void moved(std::uint32_t piece, tier::Tier to, double bytes) = 0;

 protected:
  Watcher() = default;
  ~Watcher() = default;
};

// What an op takes. `slow` is the share of each object that is slow, 0..1.
double op_ns(const Workload& workload, const tier::Machine& machine, const Op& op, std::span<const float> slow);

// With all objects on one tier.
double all_fast_ns(const Workload& workload, const tier::Machine& machine);
double all_slow_ns(const Workload& workload, const tier::Machine& machine);

Outcome simulate(const Workload& workload, const tier::Machine& machine, const Schedule& schedule,
                 Watcher* watcher = nullptr);
// Without moves.
Outcome simulate(const Workload& workload, const tier::Machine& machine, std::span<const float> slow);

}  // namespace hearth::simulate
