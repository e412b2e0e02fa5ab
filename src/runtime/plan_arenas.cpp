#include "runtime/plan_arenas.h"

#include <algorithm>

#include "plan/elastic.h"
#include "plan/sequence.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

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

}  // namespace

arena::PackedArena* other_arena() {
  arena::PackedArena* arena = empty_arena();
  return arena != nullptr ? arena : new_arena(0);
}

void move_to(arena::PackedArena& arena) {
  arena::PackedArena* former = g.managed.arena.exchange(&arena, std::memory_order_acq_rel);
  if (former != nullptr) former->discard_free();
}

FollowedPlan* add_plan(const plan::Sequence& sequence, const iteration::Signature& signature) {
  Managed& m = g.managed;
  if (m.plan_count == Managed::kPlans) return nullptr;
  FollowedPlan& plan = m.plans[m.plan_count];
  if (!plan.follower.load(sequence.sizes, sequence.plan.elastic ? plan::kElasticShift : iteration::Follower::kExact))
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

}  // namespace hearth::runtime
