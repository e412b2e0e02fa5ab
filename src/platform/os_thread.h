// Threads of Hearth's own, and waiting without a lock.
//
// Functions that return int: 0, or an errno value. Thread-safety: any thread, no malloc of ours (creating a thread may
// allocate inside libc); wait and wake are async-signal-safe. errno preserved.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hearth::os {

struct CpuMask {
  static constexpr unsigned kCpus = 1024;
  std::uint64_t words[kCpus / 64] = {};
};

// A detached thread with every signal blocked, so that the program's handlers never run on it. `cpus`: where it may
// run; null = anywhere. The name is cut to 15 characters.
int start_thread(void (*run)(void*), void* argument, const char* name, const CpuMask* cpus);

// Sleeps until woken, while the word is `expected`, at most `timeout_ns` (0 = for ever). May return early.
void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t timeout_ns);
void wake_all(const std::atomic<std::uint32_t>& word);

// Sleeps until that time of the monotonic clock.
void sleep_until(std::uint64_t monotonic_ns);

}  // namespace hearth::os
