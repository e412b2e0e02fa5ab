// What lay on which tier, what moved, and what an emulated tier cost: a part of LiveFacts. Plain values.
#pragma once

#include <atomic>
#include <cstdint>

#include "plan/residency.h"

namespace hearth::report {

struct MoveFacts {
  std::uint64_t requests = 0, bytes = 0, busy_ns = 0;
  const char* by = "copies";  // how whole units move
};

// Of pages that move by their accesses. Bytes, then numbers of units.
struct ListFacts {
  std::uint64_t active = 0, inactive = 0;
  std::uint64_t accesses = 0, activated = 0, deactivated = 0, promotions = 0, demotions = 0, held_back = 0;
};

// Of whole iterations since a plan has settled.
struct SteadyFacts {
  std::uint64_t iterations = 0, duration_ns = 0;
  std::uint64_t fast_average = 0;  // bytes, over time
  std::uint64_t to_fast = 0, to_slow = 0;
  std::uint64_t waited_ns = 0;  // of the program for moves
  std::uint64_t charged_ns = 0, slow_bytes_used = 0;
  std::uint64_t moves = 0, late = 0, late_ns = 0;  // of the plan; not over when they were due, and how long then
  std::uint64_t waits_tried = 0, waits_worth = 0;  // fetches that came late: decided by trial, and now waited for
};

// How often a planned move was asked for, was not over when it was due, and for how long it went on then, in all and at
// most. Written by one thread, read by others.
struct Punctuality {
  std::atomic<std::uint64_t> asked{0}, late{0}, late_ns{0}, latest_ns{0};
};

// What the simulator expects of an iteration under the plan that is followed.
struct ForeseenFacts {
  bool present = false;
  std::uint64_t step_ns = 0, all_fast_ns = 0, all_slow_ns = 0, stall_ns = 0, fast_peak = 0, fast_average = 0;
};

struct TierFacts {
  bool present = false;           // two tiers
  const char* backend = nullptr;  // numa, emulated
  const char* how = nullptr;      // why these tiers
  const char* policy = nullptr;
  std::uint64_t capacity = 0;  // of the fast tier, bytes; 0 = no limit
  std::uint64_t fast_bytes = 0, slow_bytes = 0;
  std::uint64_t fast_peak = 0;  // most that was fast at once since the capacity is known
  std::uint64_t unbound_bytes = 0;
  // Pages of live tensors that were looked for, and of them those that the kernel has on the tier in the books.
  std::uint64_t pages_checked = 0, pages_as_booked = 0;

  MoveFacts to_fast, to_slow;
  std::uint64_t dropped_clean = 0, failed_bytes = 0;  // bytes
  std::uint64_t busy = 0, no_memory = 0, forbidden = 0, absent_node = 0, other = 0;
  std::uint64_t calls = 0, retries = 0, full = 0, cancelled = 0, refused = 0, late = 0, latest_ns = 0;

  bool by_access = false;
  ListFacts lists;
  SteadyFacts steady;
  ForeseenFacts foreseen;
  // Of the plan that is followed, null if none is; both stay as they are for ever.
  const plan::Residency* residency = nullptr;
  const Punctuality* moves = nullptr;  // of each of its moves

  // Emulation only.
  std::uint64_t charges = 0, charged_ns = 0, overshoot_ns = 0, slow_bytes_used = 0;
};

}  // namespace hearth::report
