// Steady: what tiers cost since the last plan has settled, in whole iterations: what a comparison of policies is to
// look at, since totals of the run count the way there too. It goes on when the plan is left, as the policy does.
//
// By the thread that runs the iterations, between two of them. Nothing allocates or waits.
#pragma once

#include <cstdint>

#include "report/tier_facts.h"

namespace hearth::runtime {

struct Steady {
  struct Totals {
    std::uint64_t ns = 0, to_fast = 0, to_slow = 0, waited_ns = 0, charged_ns = 0, slow_bytes_used = 0;
    std::uint64_t moves = 0, late = 0, late_ns = 0;
  };
  std::uint64_t iterations = 0;
  std::uint64_t fast_average = 0;  // bytes
  Totals begin;
  Totals end;  // of the last whole iteration
};

// Everything lies where the plan, or the policy, wants it to begin with.
void steady_begins();
void steady_iteration_closed();

void add_steady_facts(report::TierFacts& tiers);

}  // namespace hearth::runtime
