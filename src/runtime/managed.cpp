#include "runtime/managed.h"

#include <algorithm>

#include "runtime/fill.h"
#include "runtime/phases.h"
#include "runtime/start.h"
#include "runtime/state.h"
#include "runtime/tiers.h"

namespace hearth::runtime {
namespace {

// So many iterations' worth of unknown allocations without an end of an iteration: the loop is over.
constexpr std::uint64_t kLoopOver = 64;
constexpr std::uint64_t kLoopOverAtLeast = 4096;

void change_to(FollowedPlan& plan) {
  Managed& m = g.managed;
  m.plan = &plan;
  m.arena.load(std::memory_order_relaxed)->select(plan.layout);
  m.before.rounds = plan.follower.rounds();
  m.before.missed = plan.follower.missed();
  place_plan(false);  // the program is in the midst of an iteration
}

// In step until now, and not what this plan expects: the iteration may have begun like another plan's. That is better
// than any place with these sizes in the middle of the present plan.
[[gnu::noinline]] void change_shape(std::size_t bytes) {
  Managed& m = g.managed;
  if (m.plan->follower.missed() != m.before.missed) return;
  for (std::uint32_t i = 0; i < m.plan_count; ++i) {
    FollowedPlan& other = m.plans[i];
    if (&other == m.plan || other.retired || !other.follower.begins_like(m.plan->follower, bytes)) continue;
    change_to(other);
    return;
  }
}

// Another plan that knows the last three sizes becomes the current one. The allocation's entry in it, or kLost.
std::uint32_t change_plan() {
  Managed& m = g.managed;
  for (std::uint32_t i = 0; i < m.plan_count; ++i) {
    FollowedPlan& other = m.plans[i];
    if (&other == m.plan || other.retired) continue;
    const std::uint32_t entry = other.follower.take_over(m.plan->follower.wanted());
    if (entry == iteration::Follower::kLost) continue;
    change_to(other);
    return entry;
  }
  return iteration::Follower::kLost;
}

[[gnu::noinline]] std::uint32_t lost(std::size_t bytes) {
  Managed& m = g.managed;
  const std::uint32_t entry = m.plan_count > 1 ? change_plan() : iteration::Follower::kLost;
  if (entry != iteration::Follower::kLost) return entry;
  m.lost.add(1);
  m.strange = iteration::rolled(m.strange, bytes);
  const std::uint64_t limit = kLoopOverAtLeast + kLoopOver * m.plan->follower.size();
  if (m.lost.get() - m.before.lost > limit) leave_managed("the planned loop is over");
  return entry;
}

// The sequence has come round. Where an optimizer or marks tell the end, that is no news.
[[gnu::noinline]] void round_completed() {
  g.managed.before.rounds = g.managed.plan->follower.rounds();
  if (g.detector.close_planned()) iteration_closed();
}

void* allocate_small(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* pointer = torch_allocate(bytes);
  g.managed.small.add(1);
  return pointer;
}

void count_taken(std::uint64_t bytes) {
  Managed& m = g.managed;
  m.taken.add(1);
  m.live_bytes.add(bytes);
  const std::uint64_t live = planned_live_bytes() + g.counters.live_bytes.load(std::memory_order_relaxed);
  if (live > g.counters.peak_bytes.load(std::memory_order_relaxed)) [[unlikely]] {
    g.counters.peak_bytes.store(live, std::memory_order_relaxed);
  }
}

void count_freed(std::uint64_t bytes) {
  Managed& m = g.managed;
  if (m.owner.load(std::memory_order_relaxed) == t_thread.number) {
    m.freed.add(1);
    m.live_bytes.subtract(bytes);
  } else {
    m.freed_elsewhere.fetch_add(1, std::memory_order_relaxed);
    m.bytes_freed_elsewhere.fetch_add(bytes, std::memory_order_relaxed);
  }
}

}  // namespace

std::uint64_t planned_live_bytes() {
  const Managed& m = g.managed;
  return m.live_bytes.get() - m.bytes_freed_elsewhere.load(std::memory_order_relaxed);
}

void* allocate_planned(std::size_t bytes) {
  Managed& m = g.managed;
  if (bytes < g.min_bytes) return allocate_small(bytes);
  if (m.plan_count > 1 && !m.plan->follower.expects(bytes)) [[unlikely]]
    change_shape(bytes);
  std::uint32_t entry = m.plan->follower.next(bytes);
  if (entry == iteration::Follower::kLost) [[unlikely]] {
    entry = lost(bytes);
    if (entry == iteration::Follower::kLost) return nullptr;
  }
  const bool resident = g.residence.plan != nullptr;
  if (resident) [[unlikely]]
    residency_comes_to(entry);
  arena::PackedArena* arena = m.arena.load(std::memory_order_relaxed);
  void* place = arena->take(entry);
  if (place != nullptr) [[likely]] {
    count_taken(m.plan->follower.bytes_of(entry));  // an elastic slot may be larger
    if (resident && g.residence.first_stretch[entry] != Residence::kNever) [[unlikely]]
      residency_born(entry);
    fill_as_asked(place, bytes);
  } else {
    (arena->planned(entry) ? m.blocked : m.by_plan).add(1);
  }
  if (m.plan->follower.rounds() != m.before.rounds) [[unlikely]]
    round_completed();
  return place;
}

std::uint64_t planned_bytes(const void* pointer) {
  const std::uint32_t count = g.managed.arena_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (g.managed.arenas[i].owns(pointer)) return g.managed.arenas[i].begun_at(pointer).bytes;
  }
  return 0;
}

bool release_planned(const void* pointer) {
  Managed& m = g.managed;
  arena::PackedArena* arena = m.arena.load(std::memory_order_acquire);
  if (arena == nullptr) return false;
  if (!arena->owns(pointer)) {
    const std::uint32_t count = m.arena_count.load(std::memory_order_acquire);
    if (count < 2) return false;
    arena = std::find_if(m.arenas, m.arenas + count, [&](const arena::PackedArena& a) { return a.owns(pointer); });
    if (arena == m.arenas + count) return false;
  }
  if (g.tiers.on) [[unlikely]]
    residency_freed(*arena, pointer);
  const std::uint64_t bytes = arena->free(pointer);
  if (bytes == 0) {
    m.bad_frees.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  count_freed(bytes);
  // Nothing is taken any more from an arena that the plans have moved away from: its memory goes with its last tensor.
  if (arena != m.arena.load(std::memory_order_acquire) && arena->empty()) [[unlikely]]
    arena->discard();
  return true;
}

PlannedTensor planned_tensor(const void* address) {
  const std::uint32_t count = g.managed.arena_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const arena::PackedArena& arena = g.managed.arenas[i];
    if (!arena.owns(address)) continue;
    const arena::PackedArena::Tenant tenant = arena.tenant(address);
    return {tenant.address, tenant.bytes};
  }
  return {};
}

}  // namespace hearth::runtime
