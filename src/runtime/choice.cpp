#include "runtime/choice.h"

#include "runtime/managed.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

// Iterations 0 and 1 create gradients, optimizer state and oneDNN primitives; two alike in a row mean that it settled.
constexpr std::uint32_t kAlike = 2;
// Sizes that depend on the data (sparse gradients, packed sequences) never repeat exactly; so many iterations with the
// same ops in a row are alike enough.
constexpr std::uint32_t kAlikeInOps = 3;
// Shapes that take turns never come twice in a row; one that was seen so often is worth a profile,
constexpr std::uint32_t kRecurring = 3;
// after so many iterations.
constexpr std::uint64_t kRecurringAt = 12;
// A loop whose iterations never repeat at all is profiled anyway from this one on.
constexpr std::uint64_t kRegardlessAt = 24;
// A profiled iteration that turned out unlike the expected one is thrown away, this often.
constexpr std::uint32_t kMaxAttempts = 4;
constexpr std::uint32_t kMaxAttemptsRecurring = 12;  // which of the shapes comes next is not foreseen

std::uint32_t attempts_left() {
  const bool recurring = g.managed.again || g.profile.chosen == Chosen::recurring;
  const std::uint32_t most = recurring ? kMaxAttemptsRecurring : kMaxAttempts;
  return g.profile.attempts < most ? most - g.profile.attempts : 0;
}

bool unplanned_shape(std::uint32_t seen) {
  for (std::uint32_t i = 0; i < g.detector.signatures_cached(); ++i) {
    const iteration::SignatureCache::Entry& entry = g.detector.cached(i);
    if (entry.times_seen >= seen && !has_plan(entry.signature)) return true;
  }
  return false;
}

// A plan from a file needs no profile, not even while a trial does without it.
bool wanted() {
  const bool first = g.profile.completed == 0 && !g.managed.file_followed;
  return g.knobs.profile != config::ProfileMode::off && !managing() && attempts_left() > 0 &&
         (first || g.managed.again);
}

bool choose(Chosen why) {
  g.profile.chosen = why;
  return true;
}

}  // namespace

void count_shape(const iteration::Closed& closed) {
  ProfileRun& run = g.profile;
  run.alike_in_ops = closed.signature.ops == run.last_ops ? run.alike_in_ops + 1 : 1;
  run.last_ops = closed.signature.ops;
  // What a loop's first, wrong measure closed (the steps of a recurrent layer, say) is no sign of its variety.
  run.since_source = closed.source == run.source ? run.since_source + 1 : 1;
  run.source = closed.source;
}

bool time_to_profile(const iteration::Closed& closed) {
  if (!wanted()) return false;
  const ProfileRun& run = g.profile;
  if (g.managed.again) return unplanned_shape(kRecurring) && choose(Chosen::recurring);
  if (g.knobs.profile_at > 0) return closed.number + 1 >= g.knobs.profile_at && choose(Chosen::asked);
  if (closed.consecutive >= kAlike) return choose(Chosen::alike);
  if (run.alike_in_ops >= kAlikeInOps) return choose(Chosen::alike_in_ops);
  if (run.since_source >= kRecurringAt && unplanned_shape(kRecurring)) return choose(Chosen::recurring);
  return run.since_source >= kRegardlessAt && choose(Chosen::regardless);
}

bool as_expected(const iteration::Closed& closed) {
  switch (g.profile.chosen) {
    case Chosen::alike:
      return closed.consecutive > kAlike || attempts_left() == 0;
    case Chosen::alike_in_ops:
      return g.profile.alike_in_ops > 1 || attempts_left() == 0;
    case Chosen::recurring:
      return closed.times_seen > 1 && !has_plan(closed.signature);
    case Chosen::asked:
    case Chosen::regardless:
      break;
  }
  return true;
}

bool profile_pending() { return wanted() && (!g.managed.again || unplanned_shape(kRecurring - 1)); }

void give_up_profiling() { g.profile.attempts = kMaxAttemptsRecurring; }

}  // namespace hearth::runtime
