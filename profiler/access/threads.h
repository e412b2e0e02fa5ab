// Threads of this process, from /proc/self/task. Any thread; no malloc, no libc state; not for signal handlers.
#pragma once

#include <cstdint>

namespace hearth::access {

// Fills at most `capacity` thread ids; returns how many there are (it may be more), 0 if /proc is not readable.
std::uint32_t list_threads(std::int32_t* ids, std::uint32_t capacity);

// Does a thread keep the signal blocked, other than those known never to touch tensors? Looks several times, over
// a tenth of a second: libc blocks all signals for a moment in every thread that starts another one, and so do we; on a
// busy machine such a thread may be off the processor meanwhile. False if /proc is not readable.
bool any_thread_blocks(int signo);

}  // namespace hearth::access
