#include "runtime/trials.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "plan/sequence.h"
#include "runtime/facts.h"
#include "runtime/managed.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

using report::TrialFacts;
using What = report::TrialFacts::What;
using Stage = Trials::Stage;

// In hundredths.
constexpr std::uint64_t kQuicker = 1;      // what stays must be, by so much
constexpr std::uint64_t kWithout = 5;      // no plan must be quicker by so much: it is the last that is tried
constexpr std::uint64_t kOtherTime = 5;    // of the step: worth a plan of its own
constexpr std::uint64_t kUnforeseen = 3;   // longer than foreseen
constexpr std::uint64_t kSuspicious = 10;  // longer than before the plan
constexpr double kSlowerMoves = 1.3;       // than the machine's: a plan with more time for each

// The one that so many are less than.
std::uint64_t ranked(const std::uint64_t* values, std::uint32_t rank) {
  std::uint64_t sorted[Trials::kSteps];
  std::copy_n(values, Trials::kSteps, sorted);
  std::nth_element(sorted, sorted + rank, sorted + Trials::kSteps);
  return sorted[rank];
}

std::uint64_t median(const std::uint64_t* values) { return ranked(values, Trials::kSteps / 2); }
std::uint64_t lower_quartile(const std::uint64_t* values) { return ranked(values, Trials::kSteps / 4); }
std::uint64_t upper_quartile(const std::uint64_t* values) { return ranked(values, Trials::kSteps * 3 / 4); }

std::uint64_t percent(std::uint64_t value, std::uint64_t hundredths) { return value / 100 * hundredths; }

std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

const plan::Residency& residency() { return g.managed.plan->sequence->plan.residency; }

bool tried(What what) {
  const TrialFacts& facts = g.trials.facts;
  return std::any_of(facts.rows, facts.rows + facts.count, [&](const auto& row) { return row.what == what; });
}

void add_row(What what) {
  TrialFacts& facts = g.trials.facts;
  if (facts.count < TrialFacts::kRows) facts.rows[facts.count++] = {what, 0, 0, false};
}

void keep_only(std::uint32_t row) {
  TrialFacts& facts = g.trials.facts;
  for (std::uint32_t i = 0; i < facts.count; ++i) facts.rows[i].kept = i == row;
}

void converge() {
  Trials& t = g.trials;
  t.stage = Stage::done;
  t.facts.converged_at = g.iteration.load(std::memory_order_relaxed);
  const auto* kept = std::find_if(t.facts.rows, t.facts.rows + t.facts.count, [](const auto& row) { return row.kept; });
  if (kept == t.facts.rows + t.facts.count) return;
  log::info("converged at iteration ", t.facts.converged_at, ": ", report::trial_name(kept->what), ", a step of ",
            kept->step_ns / 1000, " us");
}

// Without a plan the end of an iteration must be told by something else, and a rival policy is measured as it is.
bool may_do_without() {
  return g.detector.source() > iteration::Source::period && (residency().present() || !g.tiers.on);
}

// Starts the next trial that there is a reason for.
void go_on(std::uint64_t own_ns) {
  Trials& t = g.trials;
  if (t.offered != nullptr) {
    follow_again(*std::exchange(t.offered, nullptr));
    t.stage = Stage::settling;
    return add_row(What::autotm);
  }
  if (!g.knobs.trials || tried(What::autotm)) return converge();
  const bool tiers = residency().present();
  const bool own_is_known = tiers && g.tiers.emulating && t.reckoned_ns != 0;  // on nodes, slow memory is part of it
  const bool other_time = own_is_known && difference(own_ns, t.reckoned_ns) > percent(t.reckoned_ns, kOtherTime);
  if (other_time && !tried(What::as_measured) && replan(own_ns, 1)) {
    t.reckoned_ns = own_ns;
    t.stage = Stage::settling;
    return add_row(What::as_measured);
  }
  const std::uint64_t foreseen = residency().prediction.step_ns;
  const bool longer = tiers && t.best_ns > foreseen + percent(foreseen, kUnforeseen) && !residency().moves.empty();
  if (longer && !tried(What::slower_moves) && replan(t.reckoned_ns, kSlowerMoves)) {
    t.stage = Stage::settling;
    return add_row(What::slower_moves);
  }
  const std::uint64_t before = g.profile.normal_ns;
  const std::uint64_t without = tiers ? residency().prediction.first_touch_ns : before + percent(before, kSuspicious);
  if (may_do_without() && without != 0 && t.best_ns > without && !tried(What::no_plan)) {
    pause_managed();
    t.stage = Stage::unmanaged;
    return add_row(What::no_plan);
  }
  converge();
}

void plan_measured() {
  Trials& t = g.trials;
  TrialFacts::Row& row = t.facts.rows[t.facts.count - 1];
  row.step_ns = median(t.step_ns);
  row.foreseen_ns = residency().prediction.step_ns;
  const std::uint64_t own_ns = median(t.own_ns);
  // One that knows the times foresees more rightly, so it need only be as quick.
  const bool as_quick = row.what == What::as_measured && row.step_ns <= t.best_ns + percent(t.best_ns, kQuicker);
  const bool present = t.best == nullptr || row.what == What::planned_again;
  if (present || as_quick || row.step_ns + percent(t.best_ns, kQuicker) <= t.best_ns) {
    t.best = g.managed.plan;
    t.best_ns = row.step_ns;
    t.quick_ns = lower_quartile(t.step_ns);
    keep_only(t.facts.count - 1);
    return go_on(own_ns);
  }
  follow_again(*t.best);
  go_on(t.reckoned_ns);
}

// The times with the plan and without hardly overlap: noise of the machine has no plan left for good.
bool quicker_without() {
  const Trials& t = g.trials;
  const TrialFacts::Row& row = t.facts.rows[t.facts.count - 1];
  return row.step_ns + percent(t.best_ns, kWithout) <= t.best_ns && t.slow_without_ns < t.quick_ns;
}

void no_plan_measured() {
  Trials& t = g.trials;
  TrialFacts::Row& row = t.facts.rows[t.facts.count - 1];
  row.step_ns = median(t.step_ns);
  t.slow_without_ns = upper_quartile(t.step_ns);
  follow_again(*t.best);
  if (!quicker_without()) return converge();
  t.stage = Stage::settling_again;
}

// Was it the plan, or what else went on at that time?
void again_measured() {
  Trials& t = g.trials;
  const TrialFacts::Row& row = t.facts.rows[t.facts.count - 1];
  t.best_ns = std::min(t.best_ns, median(t.step_ns));
  t.quick_ns = std::min(t.quick_ns, lower_quartile(t.step_ns));
  if (!quicker_without()) return converge();
  pause_managed();
  keep_only(t.facts.count - 1);
  text::Buffer<sizeof(Degradation::cause)> cause;
  cause << "a step takes " << t.best_ns / 1000 << " us with the plan and " << row.step_ns / 1000 << " without";
  degrade("plan", cause.c_str(), "the plan was left; nothing else changes");
  log::info(cause.view(), ": the plan is left");
  converge();
}

}  // namespace

void trials_begin() {
  Trials& t = g.trials;
  const bool several = t.stage != Stage::idle;
  const bool rival = g.tiers.on && g.knobs.policy != config::PolicyName::sentinel;
  t.stage = several || rival || !g.knobs.trials ? Stage::done : Stage::settling;
  if (t.stage == Stage::done) return;
  t.reckoned_ns = g.profile.normal_ns;
  add_row(What::planned);
}

void trials_settled() {
  Trials& t = g.trials;
  if (t.stage != Stage::settling && t.stage != Stage::settling_again) return;
  t.stage = t.stage == Stage::settling ? Stage::measuring : Stage::again;
  t.count = 0;
}

void trials_step(std::uint64_t step_ns, std::uint64_t own_ns, bool on_plan) {
  Trials& t = g.trials;
  const bool managed = t.stage == Stage::measuring || t.stage == Stage::again;
  if (managed ? !on_plan : t.stage != Stage::unmanaged) return;
  t.step_ns[t.count] = step_ns;
  t.own_ns[t.count] = own_ns;
  if (++t.count < Trials::kSteps) return;
  t.count = 0;
  if (t.stage == Stage::measuring) return plan_measured();
  if (t.stage == Stage::again) return again_measured();
  no_plan_measured();
}

bool trials_over() { return g.trials.stage == Stage::done; }

void trials_offer(const plan::Sequence& sequence) {
  Trials& t = g.trials;
  t.offered = add_alike(sequence);
  if (t.offered == nullptr) return;
  t.stage = Stage::measuring;
  t.count = 0;
  add_row(What::planned_again);
}

void trials_end() {
  g.trials.stage = Stage::done;
  g.trials.offered = nullptr;
}

void trials_forget() {
  const report::TrialFacts::Autotm autotm = g.trials.facts.autotm;
  g.trials = {};
  g.trials.facts.autotm = autotm;
}

}  // namespace hearth::runtime
