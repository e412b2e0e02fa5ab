// The arenas that planned tensors lie in: each has a layout of every plan, and tensors are taken from one of them.
#pragma once

#include "arena/packed_arena.h"
#include "iteration/detector.h"
#include "runtime/managed.h"

namespace hearth::runtime {

// A plan more, with a layout in every arena. Null if there is no room for it, or no address space.
FollowedPlan* add_plan(const plan::Sequence& sequence, const iteration::Signature& signature);
// Another arena for the plans, with nothing in it; null if there can be none.
arena::PackedArena* other_arena();
// From now on tensors are taken from there. Those in the former arena live on; the pages between them are returned.
void move_to(arena::PackedArena& arena);

}  // namespace hearth::runtime
