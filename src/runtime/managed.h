// Managed: the steady state. The thread that runs the iterations takes every tensor from the place its plan gives it;
// what the plan does not cover, and every other thread, goes to the heap as before.
//
// Hot. One thread, `owner`, follows the plan and writes the counters here, with plain loads and stores; frees come from
// any thread. Nothing here locks, allocates or calls the system, but between two iterations.
//
// When the program leaves its plan, an iteration is counted as off. Off too often, and the runtime goes back to
// observing: a new shape of iteration gets a profile and a plan of its own, beside the former ones, up to kPlans. A
// tensor that the program keeps blocks its place for ever; if many are blocked, the plan moves to fresh addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/packed_arena.h"
#include "base/ids.h"
#include "iteration/detector.h"
#include "iteration/follower.h"

namespace hearth::plan {
struct Sequence;
}

namespace hearth::runtime {

struct FollowedPlan {
  iteration::Follower follower;
  iteration::Signature signature;  // of the iteration it was made from; none if loaded from a file
  const plan::Sequence* sequence = nullptr;
  std::uint32_t layout = 0;
  bool retired = false;  // another one has taken its place (trials.h)
};

struct Managed {
  static constexpr std::uint32_t kPlans = arena::PackedArena::kLayouts;
  static constexpr std::uint32_t kArenas = 8;
  static constexpr std::uint32_t kNobody = 0xffffffffu;  // no Thread::number
  // So many iterations after a change the heap holds nothing for use any more but what the plan leaves to it.
  static constexpr std::uint32_t kSettling = 2;
  static constexpr std::uint32_t kMostLeaves = 6;  // after which no other plan is tried

  // A counter that its one writer changes without a bus lock and others may read.
  class Counter {
   public:
    void add(std::uint64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
    void subtract(std::uint64_t n) { value_.store(get() - n, std::memory_order_relaxed); }
    void raise_to(std::uint64_t n) {
      if (n > get()) value_.store(n, std::memory_order_relaxed);
    }
    std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<std::uint64_t> value_{0};
  };

  alignas(64) std::atomic<std::uint32_t> owner{kNobody};
  FollowedPlan* plan = nullptr;
  std::atomic<arena::PackedArena*> arena{nullptr};  // the one tensors are taken from; stays when nobody owns
  Counter taken;                                    // tensors in their planned place
  Counter by_plan;                                  // left to the heap by the plan
  Counter blocked;                                  // whose place was not free
  Counter lost;                                     // that the plan did not know
  Counter small;                                    // below HEARTH_MIN_SIZE: left to libc, not registered
  Counter freed;                                    // planned tensors, by the owner
  Counter live_bytes;                               // of planned tensors, without what others freed
  alignas(64) std::atomic<std::uint64_t> freed_elsewhere{0};
  std::atomic<std::uint64_t> bytes_freed_elsewhere{0};
  std::atomic<std::uint64_t> small_freed{0};  // at most `small`
  std::atomic<std::uint64_t> bad_frees{0};

  FollowedPlan plans[kPlans];
  std::uint32_t plan_count = 0;
  arena::PackedArena arenas[kArenas];
  std::atomic<std::uint32_t> arena_count{0};

  std::uint64_t iterations = 0;      // closed while managed
  std::uint64_t iterations_off = 0;  // of them, off the plan
  std::uint64_t moved_at = 0;        // iterations when the plan moved last
  std::uint32_t score = 0;           // of iterations off of late
  std::uint32_t score_blocked = 0;
  int off_average = 0;
  std::uint32_t watched = 0;          // iterations since a plan was left
  std::uint32_t watched_planned = 0;  // of them, of a shape that has a plan
  std::uint32_t settling = 0;         // iterations until the heap has given back what it holds for nothing
  std::uint32_t left = 0;             // how often the runtime went back to observing
  const char* left_because = "";      // the last time
  std::uint32_t moved = 0;            // how often the plan moved to fresh addresses
  struct {
    std::uint64_t rounds = 0, missed = 0, lost = 0, taken = 0, blocked = 0, allocations = 0;
  } before;                    // at the end of the last iteration
  std::uint64_t strange = 0;   // hash of the sizes that the plan did not know, of this iteration
  std::uint64_t told = 0;      // allocations that the detector knows of
  bool again = false;          // a profile of another shape is wanted
  bool file_tried = false;     // HEARTH_PLAN
  bool file_followed = false;  // and it is not left
  bool idle_pages = false;     // the arena has memory though nobody follows a plan
};

// The owner's way of a tensor; null: take the usual way.
void* allocate_planned(std::size_t bytes);
// Of the planned tensor that begins there; 0 if none does.
std::uint64_t planned_bytes(const void* pointer);
// True if the pointer lay in an arena of ours; then it is freed.
bool release_planned(const void* pointer);

// The planned tensor that `address` lies in; interior pointers too. Any thread; a walk over all of them.
struct PlannedTensor {
  const void* address = nullptr;  // null: none
  std::uint64_t bytes = 0;
};
PlannedTensor planned_tensor(const void* address);

// After the profile is made: makes a plan of it and begins to follow it with the next allocation.
void adopt_profile(const iteration::Closed& closed);
// Are plans to be made here (HEARTH_PLAN, HEARTH_PROFILE)?
bool plans_wanted();
// Does HEARTH_PLAN name a file?
bool plan_file_named();
// HEARTH_PLAN: at the end of the first iteration; with two tiers, of the third.
void adopt_file();
// What was profiled was a part of the true iteration: its plans are forgotten. One from a file stays.
void forget_plans();
// Follows the plan in that file from now on, whatever was followed before. False after one line of why not, or when
// there are kPlans.
bool follow_file(const char* path);
// An optimizer steps while allocations are not fed to the detector: tells it what it has to know.
void before_step();
iteration::Signature signature_so_far();
// What the counters of this iteration are counted from.
void remember_counters();
std::uint64_t planned_live_bytes();
// How long an iteration took, and without what was charged and waited for.
struct StepTime {
  std::uint64_t ns = 0, own_ns = 0;
};
// The plan's iteration is over: judges it.
void managed_iteration_closed(const StepTime& step, const iteration::Closed& closed);
// A plan made anew from the same profile takes the place of the one that is followed (policy/tiered_plan.h). False if
// there is none.
bool replan(std::uint64_t step_ns, double slower_moves);
// Another plan for the iterations that the present one is for; null if there is no room for it.
FollowedPlan* add_alike(const plan::Sequence& sequence);
// One that was followed before, or was added, takes the place of the present one.
void follow_again(FollowedPlan& plan);
// Nobody follows the plan until follow_again.
void pause_managed();
// Without those that others took the place of.
std::uint32_t plans_followed();
bool has_plan(const iteration::Signature& signature);
// While no plan is followed: goes back to a former one if it still fits many iterations and no new one is to come.
void resume_managed(const iteration::Closed& closed);
// Back to observing; planned tensors that live go on living.
// `because` is told in the report; a literal.
void leave_managed(const char* because);
// Between two iterations: nobody follows a plan, so the arena's memory goes as soon as its last tensor has. Not when it
// is freed, since that may be on another thread, and this one might just begin to follow the plan again.
void discard_idle_arena();

}  // namespace hearth::runtime
