// Plans come and go: adopted, followed, left, followed again.
#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "plan/sequence.h"
#include "runtime/choice.h"
#include "runtime/facts.h"
#include "runtime/managed.h"
#include "runtime/phases.h"
#include "runtime/plan_arenas.h"
#include "runtime/plan_sources.h"
#include "runtime/planner.h"
#include "runtime/state.h"
#include "runtime/tiers.h"

namespace hearth::runtime {
namespace {

// What becomes of a loop without a plan.
constexpr const char* kHeap = "tensors stay in the heap; nothing else changes";

// Iterations without a plan after which a former one is followed again if it knows a quarter of their shapes,
constexpr std::uint32_t kWatch = 32;
// and after which nothing is expected any more.
constexpr std::uint32_t kLongWatch = 128;

void follow(FollowedPlan& plan) {
  Managed& m = g.managed;
  m.plan = &plan;
  m.arena.load(std::memory_order_relaxed)->select(plan.layout);
  plan.follower.restart();
  remember_counters();
  m.score = m.score_blocked = 0;
  m.again = false;
  m.idle_pages = false;
  m.settling = Managed::kSettling;
  g.heap.keep(arena::Keep::nothing);
  g.heap.trim();
  place_plan(true);
  g.phase.store(Phase::managed, std::memory_order_release);
  m.owner.store(t_thread.number, std::memory_order_release);
}

// False after one line of why not.
bool adopt(const plan::Sequence* sequence, const iteration::Signature& signature, const char* why) {
  FollowedPlan* plan = nullptr;
  // A loop of small tensors only has an empty plan. It is followed all the same, since small tensors then pass by,
  // unless nothing but the plan could tell its iterations.
  const bool empty = sequence != nullptr && sequence->sizes.empty();
  if (empty && g.detector.source() <= iteration::Source::period) {
    why = "no tensor of the iteration is as large as HEARTH_MIN_SIZE";
  } else if (sequence != nullptr) {
    plan = add_plan(*sequence, signature);
    why = "no address space for its arena (ulimit -v, -d?)";
  }
  if (plan == nullptr) {
    g.heap.keep(arena::Keep::plenty);
    if (!empty) degrade("plan", why, kHeap);
    log::info("no plan: ", why);
    return false;
  }
  follow(*plan);
  trials_begin();
  return true;
}

// Of a share, what it will be in bytes is known later.
void tell_smaller_tier(const plan::Residency& plan) {
  const Tiers& t = g.tiers;
  if (!t.on || !plan.present() || config::is_percentage(g.knobs.fast_capacity)) return;
  if (plan.fast_capacity <= t.pages.capacity()) return;
  log::warn("HEARTH_PLAN: made for ", plan.fast_capacity, " bytes of fast memory, and ", t.pages.capacity(),
            " are allowed; what finds no room stays slow");
}

}  // namespace

bool plan_file_named() {
  return config::names_a_file(config::kKnobs[static_cast<std::size_t>(config::KnobIndex::plan)], g.knobs.plan.c_str());
}

bool plans_wanted() {
  const bool off = !g.knobs.plan.empty() && !plan_file_named();
  const bool source = g.knobs.profile != config::ProfileMode::off || plan_file_named();
  return source && g.heap_ready && !off;
}

void adopt_profile(const iteration::Closed& closed) {
  const profile::Profile* profile = made_profile();
  const bool repeats = g.profile.chosen != Chosen::regardless;
  if (!plans_wanted() || !repeats || profile == nullptr) {
    if (plans_wanted() && !repeats) degrade("plan", "the loop's iterations do not repeat: each has other ops", kHeap);
    g.heap.keep(arena::Keep::plenty);
    return;
  }
  char why[256] = "";
  set_profiled_peak(profile->peak_bytes);
  const plan::Sequence* sequence = make_sequence(*profile, g.profile.normal_ns, 1, why, sizeof why);
  if (adopt(sequence, closed.signature, why)) planner_begin();
}

void adopt_file() {
  // What lives on has to be there before it can be given a tier: optimizers make their state as they first step, and a
  // second one (of a GAN) does so later.
  constexpr std::uint64_t kFirstOfTiers = 2;
  if (g.tiers.on && g.detector.closed().number < kFirstOfTiers) return;
  const char* path = g.knobs.plan.c_str();
  if (!plan_file_named() || !plans_wanted() || g.managed.plan_count > 0 || g.managed.file_tried) return;
  g.managed.file_tried = true;
  const plan::Sequence* sequence = load_plan("HEARTH_PLAN", path, "the plan is made from a profile instead");
  if (sequence == nullptr) return;
  tell_smaller_tier(sequence->plan.residency);
  g.managed.file_followed = adopt(sequence, {}, "");
}

void forget_plans() {
  Managed& m = g.managed;
  if (m.file_followed) {
    trials_forget();
    follow(*m.plan);
    return trials_begin();
  }
  leave_managed("the profiled iteration was a part of a longer one");
  trials_forget();
  planner_forget();
  for (std::uint32_t i = 0; i < m.plan_count; ++i) m.plans[i].retired = true;
  m.again = false;
  g.profile.attempts = 0;
}

bool follow_file(const char* path) {
  const plan::Sequence* sequence = load_plan("HEARTH_OP_TIMES", path, "its ops are not timed");
  FollowedPlan* plan = sequence != nullptr ? add_plan(*sequence, {}) : nullptr;
  if (plan == nullptr) return false;
  follow_again(*plan);
  return true;
}

bool replan(std::uint64_t step_ns, double slower_moves) {
  const profile::Profile* profile = made_profile();
  FollowedPlan* former = g.managed.plan;
  if (profile == nullptr || former == nullptr) return false;
  char why[256] = "";
  const plan::Sequence* sequence = make_sequence(*profile, step_ns, slower_moves, why, sizeof why);
  FollowedPlan* made = sequence != nullptr ? add_alike(*sequence) : nullptr;
  if (made == nullptr) return false;
  follow_again(*made);
  return true;
}

FollowedPlan* add_alike(const plan::Sequence& sequence) { return add_plan(sequence, g.managed.plan->signature); }

void follow_again(FollowedPlan& plan) {
  Managed& m = g.managed;
  if (m.plan != nullptr) m.plan->retired = true;
  plan.retired = false;
  follow(plan);
}

std::uint32_t plans_followed() {
  const Managed& m = g.managed;
  return static_cast<std::uint32_t>(
      std::count_if(m.plans, m.plans + m.plan_count, [](const FollowedPlan& plan) { return !plan.retired; }));
}

void discard_idle_arena() {
  Managed& m = g.managed;
  if (!m.idle_pages || managing()) return;
  arena::PackedArena* arena = m.arena.load(std::memory_order_relaxed);
  if (!arena->empty()) return;
  arena->discard();
  m.idle_pages = false;
}

void pause_managed() {
  Managed& m = g.managed;
  m.owner.store(Managed::kNobody, std::memory_order_release);
  leave_residency();
  g.phase.store(Phase::observe, std::memory_order_release);
  g.detector.forget_period();
  m.idle_pages = true;
  g.heap.keep(arena::Keep::peak);
}

void leave_managed(const char* because) {
  Managed& m = g.managed;
  if (!managing()) return;
  pause_managed();
  trials_end();
  m.file_followed = false;
  ++m.left;
  m.left_because = because;
  m.again = m.left <= Managed::kMostLeaves;
  m.watched = m.watched_planned = 0;
  g.heap.keep(m.again ? arena::Keep::peak : arena::Keep::plenty);
  g.profile.attempts = 0;
  log::info("back to observing: ", because, m.again ? "" : "; tensors stay in the heap from now on");
  apply_level();
}

bool has_plan(const iteration::Signature& signature) {
  const Managed& m = g.managed;
  return std::any_of(m.plans, m.plans + m.plan_count, [&](const FollowedPlan& plan) {
    return !plan.retired &&
           (plan.signature == signature || (signature.op_count == 0 && plan.signature.exact == signature.exact &&
                                            plan.signature.allocation_count == signature.allocation_count));
  });
}

void resume_managed(const iteration::Closed& closed) {
  Managed& m = g.managed;
  if (!m.again || m.plan_count == 0 || g.phase.load(std::memory_order_relaxed) != Phase::observe) return;
  ++m.watched;
  if (has_plan(closed.signature)) ++m.watched_planned;
  if (m.watched < kWatch || profile_pending()) return;
  if (m.watched_planned >= kWatch / 4) {
    follow(*m.plan);
  } else if (m.watched >= kLongWatch) {
    m.again = false;
    g.heap.keep(arena::Keep::plenty);
  }
}

}  // namespace hearth::runtime
