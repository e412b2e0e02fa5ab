// Plans come and go: made from a profile or read from a file, followed, judged, moved, left, followed again.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/log.h"
#include "base/text.h"
#include "plan/elastic.h"
#include "plan/sequence.h"
#include "policy/tiered_sequence.h"
#include "runtime/choice.h"
#include "runtime/facts.h"
#include "runtime/managed.h"
#include "runtime/phases.h"
#include "runtime/planner.h"
#include "runtime/state.h"
#include "runtime/tier_facts.h"
#include "runtime/tiers.h"

namespace hearth::runtime {
namespace {

// An iteration is off its plan when one in four of its allocations came unexpected, or one in eight found its place
// taken, and more than a few did; the heap serves those just as well.
constexpr std::uint64_t kShareUnexpected = 4;
// A plan that says what lies on which tier is worth more than the heap, which knows nothing of that: one in two, unless
// iterations like that have come so often that they may have a plan of their own.
constexpr std::uint64_t kShareUnexpectedOfTiers = 2;
constexpr std::uint32_t kRecurs = 3;
constexpr std::uint64_t kFewestUnexpected = 3;
constexpr std::uint64_t kShareBlocked = 8;
constexpr std::uint64_t kFewestBlocked = 8;
// Each adds so much, each good one takes one away; beyond the limit the plan is given up (or moved).
constexpr std::uint32_t kOffWeighs = 3;
constexpr std::uint32_t kScoreLimit = 12;
// The share of iterations off, of about the last kOffMemory; kAlwaysOff = all.
constexpr int kAlwaysOff = 1024;
constexpr int kMostlyOff = 768;
constexpr int kOffMemory = 32;
constexpr std::uint32_t kMostLeaves = 6;
// Blocked again so soon after moving to fresh addresses: it is not a tensor kept now and then.
constexpr std::uint64_t kMoveHelps = 8;
// So many iterations after a change the heap holds nothing for use any more but what the plan leaves to it.
constexpr std::uint32_t kSettling = 2;

// The share of the fast tier that plans leave free: one in so many bytes.
constexpr std::uint64_t kUnforeseen = 64;

// Iterations without a plan after which a former one is followed again if it knows a quarter of their shapes,
constexpr std::uint32_t kWatch = 32;
// and after which nothing is expected any more.
constexpr std::uint32_t kLongWatch = 128;

std::uint64_t allocations_seen() {
  const Managed& m = g.managed;
  return m.taken.get() + m.by_plan.get() + m.blocked.get() + m.lost.get() + m.small.get();
}

void remember_counters() {
  Managed& m = g.managed;
  const iteration::Follower& follower = m.plan->follower;
  m.strange = 0;
  m.before = {follower.rounds(), follower.missed(), m.lost.get(), m.taken.get(), m.blocked.get(), allocations_seen()};
}

// An arena in which nothing lies any more and all plans have a layout; null if there is none.
arena::PackedArena* empty_arena() {
  Managed& m = g.managed;
  const std::uint32_t count = m.arena_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (m.arenas[i].layouts() == m.plan_count && m.arenas[i].empty()) return &m.arenas[i];
  }
  return nullptr;
}

arena::PackedArena* new_arena(std::uint64_t height) {
  Managed& m = g.managed;
  const std::uint32_t number = m.arena_count.load(std::memory_order_relaxed);
  if (number == Managed::kArenas) return nullptr;
  for (std::uint32_t i = 0; i < m.plan_count; ++i) height = std::max(height, m.plans[i].sequence->height);
  arena::PackedArena& arena = m.arenas[number];
  if (!arena.init(height)) return nullptr;
  for (std::uint32_t i = 0; i < m.plan_count; ++i) {
    if (arena.add(m.plans[i].sequence->places) != i) return nullptr;
  }
  m.arena_count.store(number + 1, std::memory_order_release);
  return &arena;
}

// From now on tensors are taken from there. Those in the former arena live on; the pages between them are returned.
void move_to(arena::PackedArena& arena) {
  arena::PackedArena* former = g.managed.arena.exchange(&arena, std::memory_order_acq_rel);
  if (former != nullptr) former->discard_free();
}

FollowedPlan* add_plan(const plan::Sequence& sequence, const iteration::Signature& signature) {
  Managed& m = g.managed;
  if (m.plan_count == Managed::kPlans) return nullptr;
  FollowedPlan& plan = m.plans[m.plan_count];
  if (!plan.follower.load(sequence.sizes, sequence.elastic ? plan::kElasticShift : iteration::Follower::kExact))
    return nullptr;
  plan.sequence = &sequence;
  plan.signature = signature;
  // Layouts have the numbers of their plans, in every arena.
  plan.layout = m.plan_count;
  arena::PackedArena* arena = m.arena.load(std::memory_order_relaxed);
  if (arena == nullptr || arena->add(sequence.places) != plan.layout) {
    arena = new_arena(sequence.height);
    if (arena == nullptr || arena->add(sequence.places) != plan.layout) {
      plan.follower.unload();
      return nullptr;
    }
    move_to(*arena);
  }
  ++m.plan_count;
  return &plan;
}

void follow(FollowedPlan& plan) {
  Managed& m = g.managed;
  m.plan = &plan;
  m.arena.load(std::memory_order_relaxed)->select(plan.layout);
  plan.follower.restart();
  remember_counters();
  m.score = m.score_blocked = 0;
  m.again = false;
  m.idle_pages = false;
  m.settling = kSettling;
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
    why = "no address space for its arena (ulimit -v?)";
  }
  if (plan == nullptr) {
    g.heap.keep(arena::Keep::plenty);
    if (!empty) degrade("plan", why, "tensors stay in the heap; nothing else changes");
    log::info("no plan: ", why);
    return false;
  }
  follow(*plan);
  trials_begin();
  return true;
}

// `step_ns`: what an iteration takes with everything fast.
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

// Of a share, what it will be in bytes is known later.
void tell_smaller_tier(const plan::Residency& plan) {
  const Tiers& t = g.tiers;
  if (!t.on || !plan.present() || config::is_percentage(g.knobs.fast_capacity)) return;
  if (plan.fast_capacity <= t.pages.capacity()) return;
  log::warn("HEARTH_PLAN: made for ", plan.fast_capacity, " bytes of fast memory, and ", t.pages.capacity(),
            " are allowed; what finds no room stays slow");
}

// Null after one line of why not, and what happens then.
const plan::Sequence* load(const char* knob, const char* path, const char* otherwise) {
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

}  // namespace

bool plans_wanted() {
  const bool source = g.knobs.profile != config::ProfileMode::off || !g.knobs.plan.empty();
  return source && g.heap_ready && std::strcmp(g.knobs.plan.c_str(), "off") != 0;
}

void adopt_profile(const iteration::Closed& closed) {
  const profile::Profile* profile = made_profile();
  if (!plans_wanted() || g.profile.chosen == Chosen::regardless || profile == nullptr) {
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
  if (*path == '\0' || !plans_wanted() || g.managed.plan_count > 0 || g.managed.file_tried) return;
  g.managed.file_tried = true;
  const plan::Sequence* sequence = load("HEARTH_PLAN", path, "the plan is made from a profile instead");
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
  const plan::Sequence* sequence = load("HEARTH_OP_TIMES", path, "its ops are not timed");
  FollowedPlan* plan = sequence != nullptr ? add_plan(*sequence, {}) : nullptr;
  if (plan == nullptr) return false;
  follow_again(*plan);
  return true;
}

void before_step() {
  Managed& m = g.managed;
  const std::uint64_t seen = allocations_seen();
  g.detector.catch_up(seen - m.told, 0);
  m.told = seen;
  if (managing()) g.detector.stand_in(signature_so_far());
}

iteration::Signature signature_so_far() {
  const Managed& m = g.managed;
  iteration::Signature signature = m.plan->signature;
  const std::uint64_t off = m.plan->follower.missed() - m.before.missed;
  if (off != 0) {
    // Not the planned iteration; like another one that left the plan as often, for the same sizes.
    const std::uint64_t allocations = allocations_seen() - m.before.allocations;
    signature.exact =
        iteration::rolled(iteration::rolled(iteration::rolled(signature.exact, off), m.strange), allocations);
    signature.allocation_count = static_cast<std::uint32_t>(allocations);
  }
  return signature;
}

// Activations and gradients have moved to the arena; what they leave behind in the heap would be resident for nothing.
// At once for what is free already, again when the last tensors from before the plan have been freed.
void give_back_what_the_heap_kept() {
  if (g.managed.settling == 0) return;
  if (--g.managed.settling == 0) g.heap.keep(arena::Keep::peak);
  g.heap.trim();
  if (g.managed.settling != 0) return;
  fill_room();
  steady_begins();
  trials_settled();
}

namespace {

// How an iteration went against its plan.
enum class Course : std::uint8_t { on_plan, elsewhere, blocked, mostly_blocked };

Course course_of_iteration(bool recurs) {
  const Managed& m = g.managed;
  const iteration::Follower& follower = m.plan->follower;
  const std::uint64_t missed = follower.missed() - m.before.missed;
  const std::uint64_t unfree = m.blocked.get() - m.before.blocked;
  const std::uint64_t size = follower.size();
  const bool nothing_taken = m.taken.get() == m.before.taken && m.plan->sequence->planned > 0;
  const bool tiers = m.plan->sequence->plan.residency.present();
  const std::uint64_t most = size / (tiers && !recurs ? kShareUnexpectedOfTiers : kShareUnexpected);
  if (missed > std::max(kFewestUnexpected, most)) return Course::elsewhere;
  if (nothing_taken && unfree == 0) return Course::elsewhere;
  if (unfree <= std::max(kFewestBlocked, size / kShareBlocked)) return Course::on_plan;
  return unfree > size / 2 ? Course::mostly_blocked : Course::blocked;
}

// Weighs the iteration that is over.
Course judge_iteration(bool recurs) {
  Managed& m = g.managed;
  const Course course = course_of_iteration(recurs);
  const auto weigh = [](std::uint32_t score, bool bad) { return bad ? score + kOffWeighs : score - (score != 0); };
  m.score = weigh(m.score, course == Course::elsewhere);
  m.score_blocked = weigh(m.score_blocked, course >= Course::blocked);
  m.off_average += ((course != Course::on_plan ? kAlwaysOff : 0) - m.off_average) / kOffMemory;
  ++m.iterations;
  if (course != Course::on_plan) ++m.iterations_off;
  return course;
}

// Too many places are blocked: tries other addresses. Where these would not help, half a plan is better than none.
void move_or_leave(Course course) {
  Managed& m = g.managed;
  m.score_blocked = 0;
  const bool helped = m.moved == 0 || m.iterations - m.moved_at > kMoveHelps;
  arena::PackedArena* other = helped ? empty_arena() : nullptr;
  if (helped && other == nullptr) other = new_arena(0);
  if (other == nullptr) {
    if (course == Course::mostly_blocked) leave_managed("its tensors live longer than was profiled");
    return;
  }
  move_to(*other);
  ++m.moved;
  m.moved_at = m.iterations;
  m.arena.load(std::memory_order_relaxed)->select(m.plan->layout);
  place_plan(true);
}

}  // namespace

void managed_iteration_closed(const StepTime& step, const iteration::Closed& closed) {
  Managed& m = g.managed;
  const bool settled = m.settling == 0;
  if (m.owner.load(std::memory_order_relaxed) != t_thread.number) {
    leave_managed("another thread runs the iterations now");
    return;
  }
  const Course course = judge_iteration(closed.times_seen >= kRecurs);
  m.plan->follower.restart();
  m.arena.load(std::memory_order_relaxed)->settle();
  remember_counters();
  residency_iteration_closed();
  if (std::has_single_bit(m.iterations) && m.iterations > kSettling) check_residency();
  give_back_what_the_heap_kept();
  // Rather a plan that fits now and then than none, once other plans have been tried often enough.
  const bool leave = m.left < kMostLeaves || m.off_average > kMostlyOff;
  if (m.score > kScoreLimit && leave) {
    leave_managed(m.plan->sequence->elastic ? "its tensors' sizes differ by more than an elastic plan has room for"
                                            : "the program no longer does what was profiled");
  } else if (m.score_blocked > kScoreLimit) {
    move_or_leave(course);
  }
  if (settled && managing()) trials_step(step.ns, step.own_ns, course == Course::on_plan);
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
  m.again = m.left <= kMostLeaves;
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
