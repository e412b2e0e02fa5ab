#include "runtime/plan_sources.h"

#include "base/log.h"
#include "plan/sequence.h"
#include "policy/tiered_sequence.h"
#include "runtime/choice.h"
#include "runtime/state.h"
#include "runtime/tiers.h"

namespace hearth::runtime {
namespace {

// The share of the fast tier that plans leave free: one in so many bytes.
constexpr std::uint64_t kUnforeseen = 64;

}  // namespace

const plan::Sequence* make_sequence(const profile::Profile& profile, std::uint64_t step_ns, double slower_moves,
                                    char* why, std::size_t capacity) {
  const Tiers& t = g.tiers;
  const bool queue = g.knobs.policy == config::PolicyName::tier_queue;
  const bool elastic = g.profile.chosen == Chosen::alike_in_ops;
  const bool tiered = t.on && (queue || g.knobs.policy == config::PolicyName::sentinel);
  if (!tiered || t.pages.capacity() == tier::Pages::kUnlimited) {
    return plan::plan_sequence(profile, g.min_bytes, elastic, why, capacity);
  }
  policy::SequenceOptions options;
  options.min_bytes = g.min_bytes;
  // A little stays free for what no plan foresees.
  options.fast_capacity = t.pages.capacity() - t.pages.capacity() / kUnforeseen;
  options.step_ns = step_ns;
  options.slower_moves = slower_moves;
  options.tier_queue = queue;
  options.elastic = elastic;
  return policy::tiered_sequence(profile, t.machine, options, why, capacity);
}

const plan::Sequence* load_plan(const char* knob, const char* path, const char* otherwise) {
  char why[512] = "";
  const plan::Sequence* sequence = plan::load_sequence(path, why, sizeof why);
  if (sequence == nullptr) {
    log::warn(knob, ": ", why, "; ", otherwise);
    return nullptr;
  }
  if (sequence->plan.min_bytes == g.min_bytes) return sequence;
  log::warn(knob, ": made for HEARTH_MIN_SIZE=", sequence->plan.min_bytes, ", and ", g.min_bytes, " is in force; ",
            otherwise);
  return nullptr;
}

}  // namespace hearth::runtime
