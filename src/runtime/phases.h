// What happens inside and between iterations. Called by the thread that runs them, except note_* (any thread).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "hearth/trace.h"

namespace hearth::runtime {

// The detector closed an iteration: decides what the next one is for.
void iteration_closed();

void note_allocation(TensorSlot slot, std::uint64_t bytes, bool own_pages);
// Before the memory is given back: opens guarded pages.
void note_free(TensorSlot slot);
// One event of the profiled iteration; time and thread are filled in.
void log_event(hearth_event event);
// As an iteration begins: the ops around it.
void log_open_ops();

// Asks the adapter for what the present phase needs.
void apply_level();
// HEARTH_MODULES: registers the module hooks, as soon as torch.nn has been imported.
void watch_modules();

}  // namespace hearth::runtime
