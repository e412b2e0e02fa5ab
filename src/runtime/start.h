// Start-up, at the first tensor allocation; and the way to PyTorch's own allocator.
#pragma once

#include <cstddef>

namespace hearth::runtime {

// Leaves mode `bootstrap`: to tracking, or to forwarding when switched off or when something essential is missing.
// Runs once; other threads that arrive meanwhile forward.
void start();

// PyTorch's own c10::alloc_cpu / free_cpu. Throws what it throws.
void* torch_allocate(std::size_t bytes);
void torch_release(void* pointer);

// One line, and everything forwards from now on. What we handed out can still be freed.
void stand_aside(const char* cause_and_cure);

}  // namespace hearth::runtime
