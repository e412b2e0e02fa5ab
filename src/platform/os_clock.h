// Clock: monotonic time, the one clock of traces and statistics.
// Thread-safety: any thread, async-signal-safe (vDSO, no system call on usual machines).
#pragma once

#include <time.h>

#include <cstdint>

namespace hearth::os {

inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Time of day, to say when something was written; never for durations.
inline std::uint64_t unix_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace hearth::os
