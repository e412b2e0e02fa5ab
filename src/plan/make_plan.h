// make_plan: which tensors of a profiled iteration are planned, in which arena, at which offset.
//
// Called by the runtime's worker once a profile is there, and by the tools. A pure function but for the clock that
// PackOptions::budget_ms looks at; allocates, throws nothing: memory exhausted is a sentence as well.
//
// Planned is what the main thread allocated within the iteration, at least min_bytes large and on pages of its own, if
//   - it died within the iteration, or
//   - it lived on at the end, and a tensor of the same size and producer that was alive at the begin died within the
//     iteration: its counterpart of the former iteration (gradients under zero_grad(set_to_none=True), the last
//     output). Counterparts are matched in order of birth and death. Where the counterpart dies only after the birth,
//     two iterations' tensors overlap in time: no one slot serves both, and the heap does.
// What only gathers (kept by the user) is left to the heap, and what lives through the whole iteration is no entry.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "plan/pack.h"
#include "plan/plan.h"
#include "profile/profile.h"

namespace hearth::plan {

struct PlanOptions {
  std::uint64_t min_bytes = 16384;
  bool separate = false;           // one arena per class at any price; else only where it costs at most this share
  double separation_share = 0.01;  // of the peak of planned bytes
  bool group = false;              // neighbouring offsets within a class in a common arena
  PackOptions pack = {};
  // Of each tensor of the profile; empty = all fast. Entries of one home have one arena, and nothing else counts then.
  std::span<const Home> home_of = {};
};

// Memory the profile does not own is not looked at: `profile` may go away afterwards.
Result<Plan> make_plan(const profile::Profile& profile, const PlanOptions& options = {}) noexcept;

}  // namespace hearth::plan
