// Workload: one iteration as the simulator and the policies see it: ops with durations, objects that can lie on either
// tier, and what each op moves of each object between core and memory.
//
// Objects are what Hearth can place: tensors on pages of their own, of at least min_bytes. A tensor that outlives the
// iteration and its counterpart of the former one are one object, since they share a place (plan/make_plan.h). What is
// no object lies in fast memory whatever the policy, and its traffic counts as the op's own time.
//
// A plain value; making one allocates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "simulate/op_cost.h"

namespace hearth::simulate {

struct Use {
  std::uint32_t object = 0;
  double read = 0;  // bytes
  double write = 0;
};

// In the order in which ops end, which is the clock of a running program (plan/residency.h). What an op computes before
// and between those that it runs inside passes as their lead.
struct Op {
  static constexpr std::uint32_t kItself = 0xffffffffu;

  double self_ns = 0;           // with everything in the host's memory
  std::uint32_t first_use = 0;  // into Workload::uses, in order of ops
  std::uint32_t uses = 0;
  std::uint32_t of = 0;               // index into Profile::ops
  std::uint32_t cost = kNotMeasured;  // index into Workload::costs
  std::uint32_t from = kItself;       // the first op that ends after it has begun
  double lead_ns = 0;                 // from the end of the op before it to its begin: of ops around it, and of none
  double spent_ns = 0;                // of self_ns, in leads of ops inside it

  // The first op that ends after it has begun; `place` is its own.
  std::uint32_t begins_in(std::uint32_t place) const { return std::min(from, place); }
  // Between the last end and its own, if it takes `ns` by itself.
  double lapse_ns(double ns) const { return lead_ns + std::max(0.0, ns - spent_ns); }
};

// Alive while the clock of births and deaths (Workload::period places) is in [from, to).
struct Span {
  std::uint32_t from = 0, to = 0;
};

struct Object {
  std::uint64_t bytes = 0;     // whole pages
  std::uint32_t tensor = 0;    // index into Profile::tensors: of the iteration's own, where there are two
  bool resident = false;       // alive all the time: weights, optimizer state
  bool planned = false;        // no resident, and a plan can give it a place (plan/make_plan.h); else the heap does
  Span alive[2];               // the second is empty but for objects that live across the iteration's end
  std::uint32_t birth_op = 0;  // the first op that it is alive in, 0..ops.size(); residents: 0
  std::uint32_t death_op = 0;  // the last one; before birth_op: in the next iteration
};

struct Workload {
  std::vector<Op> ops;
  std::vector<Use> uses;
  std::vector<Object> objects;  // residents first, then by birth
  std::vector<OpCost> costs;    // of ops that have been measured (src/costs)
  std::uint32_t period = 0;
  std::vector<std::uint32_t> entry_ops;  // of each entry that a plan has (plan/plan.h): its birth_op
  double rest_ns = 0;                    // of the iteration, after the last op

  // Outside all ops: between them, and after the last.
  double outside_ns() const {
    double ns = rest_ns;
    for (const Op& op : ops) ns += op.lead_ns - op.spent_ns;
    return ns;
  }
};

// Between the ends of the ops, if each takes `op_ns` by itself.
std::vector<double> lapses(const Workload& workload, const std::vector<double>& op_ns);

struct WorkloadOptions {
  std::uint64_t min_bytes = 16384;
  double step_ns = 0;  // what an iteration takes that is not being profiled; 0 = as in the profile
};

Workload make_workload(const profile::Profile& profile, const WorkloadOptions& options);

}  // namespace hearth::simulate
