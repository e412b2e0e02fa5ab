// How an iteration went against its plan, and what follows from it.
#include <algorithm>
#include <bit>

#include "iteration/detector.h"
#include "plan/sequence.h"
#include "runtime/managed.h"
#include "runtime/plan_arenas.h"
#include "runtime/state.h"
#include "runtime/steady.h"
#include "runtime/tier_facts.h"
#include "runtime/tiers.h"
#include "runtime/trials.h"

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
// Blocked again so many iterations, for each move there was, after moving to fresh addresses: it is not a tensor kept
// now and then.
constexpr std::uint64_t kMoveHelps = 8;

std::uint64_t allocations_seen() {
  const Managed& m = g.managed;
  return m.taken.get() + m.by_plan.get() + m.blocked.get() + m.lost.get() + m.small.get();
}

}  // namespace

void remember_counters() {
  Managed& m = g.managed;
  const iteration::Follower& follower = m.plan->follower;
  m.strange = 0;
  m.before = {follower.rounds(), follower.missed(), m.lost.get(), m.taken.get(), m.blocked.get(), allocations_seen()};
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
  const bool helped = m.moved == 0 || m.iterations - m.moved_at > kMoveHelps * m.moved;
  arena::PackedArena* other = helped ? other_arena() : nullptr;
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
  if (std::has_single_bit(m.iterations) && m.iterations > Managed::kSettling) check_residency();
  give_back_what_the_heap_kept();
  // Rather a plan that fits now and then than none, once other plans have been tried often enough.
  const bool leave = m.left < Managed::kMostLeaves || m.off_average > kMostlyOff;
  if (m.score > kScoreLimit && leave) {
    leave_managed(m.plan->sequence->plan.elastic ? "its tensors' sizes differ by more than an elastic plan has room for"
                                                 : "the program no longer does what was profiled");
  } else if (m.score_blocked > kScoreLimit) {
    move_or_leave(course);
  }
  if (settled && managing()) trials_step(step.ns, step.own_ns, course == Course::on_plan);
}

}  // namespace hearth::runtime
