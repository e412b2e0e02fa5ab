// Signal stacks: a second stack for each thread, on which the guard's handler runs.
//
// Not for depth, but because the stack pointer may point anywhere while PyTorch computes: oneDNN's matrix kernels let
// it point into a workspace on the heap, and a signal's frame, which the kernel writes below it, would go over what
// lies there. A thread cannot be given one from outside, so threads take theirs when they begin
// (preload/thread_hooks.cpp).
//
// Any thread; not for signal handlers. No malloc: 256 KiB of address space each, of which a fault touches 8 to 16.
#pragma once

#include <pthread.h>

namespace hearth::access {

// For the calling thread, until it ends, unless it has one. False: there is no memory for it.
bool take_signal_stack();

// Starts a thread that takes one first, with `create`, the pthread_create of the libc.
using CreateThread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int create_with_signal_stack(CreateThread* create, pthread_t* thread, const pthread_attr_t* attributes,
                             void* (*run)(void*), void* argument);

}  // namespace hearth::access
