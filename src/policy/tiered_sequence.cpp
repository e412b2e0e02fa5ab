#include "policy/tiered_sequence.h"

#include "policy/tiered_plan.h"

namespace hearth::policy {

const plan::Sequence* tiered_sequence(const profile::Profile& profile, const tier::Machine& machine,
                                      const SequenceOptions& options, char* why, std::size_t capacity) noexcept {
  TierOptions how;
  how.policy = options.tier_queue ? Policy::tier_queue : Policy::sentinel;
  how.fast_capacity = options.fast_capacity;
  how.step_ns = static_cast<double>(options.step_ns);
  how.slower_moves = options.slower_moves;
  how.plan.min_bytes = options.min_bytes;
  const auto make = [&](const profile::Profile& of) { return tiered_plan(of, machine, how); };
  return plan::made_sequence(profile, options.min_bytes, options.elastic, make, why, capacity);
}

}  // namespace hearth::policy
