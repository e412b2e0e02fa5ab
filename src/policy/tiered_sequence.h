// The seam to the runtime: plan/sequence.h for two tiers. No exception crosses it; the value lives for ever.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/sequence.h"
#include "profile/profile.h"
#include "tier/machine.h"

namespace hearth::policy {

struct SequenceOptions {
  std::uint64_t min_bytes = 0;
  std::uint64_t fast_capacity = 0;  // bytes
  bool tier_queue = false;          // instead of sentinel
  bool elastic = false;             // plan/elastic.h
  double slower_moves = 1;          // TierOptions
  std::uint64_t step_ns = 0;        // of an iteration that is not profiled, everything fast; 0 = not known
};

// Null, and one sentence in why[0..capacity), if there is no plan.
const plan::Sequence* tiered_sequence(const profile::Profile& profile, const tier::Machine& machine,
                                      const SequenceOptions& options, char* why, std::size_t capacity) noexcept;

}  // namespace hearth::policy
