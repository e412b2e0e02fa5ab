// Residency: on which tier the tensors of an iteration lie as it begins, or as they are born, and what moves while it
// runs. Part of a Plan; made by a policy (src/policy), carried out by the runtime: it knows nothing of threads or the
// kernel's pages.
//
// The clock is the number of ops that the main thread has ended since the iteration began, nested ones too; it is set
// right at every allocation that the plan knows (Residency::births). A move is asked for when the clock comes to `at`
// and shall be over when it comes to `due`. The next iteration goes through the same again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/account.h"
#include "tier/tier.h"

namespace hearth::plan {

// A tensor on pages of its own that is alive as the iteration begins and is no entry: a weight, optimizer state. Found
// again as the `nth` live tensor of `bytes` bytes, from 0, in order of birth.
struct Resident {
  std::uint64_t bytes = 0;
  std::uint32_t nth = 0;

  bool operator==(const Resident&) const = default;
};

// Whole pages that are always on one tier together. What no stretch covers is fast.
struct Stretch {
  enum class Of : std::uint8_t {
    arena,     // all the time, whoever lies on it
    entry,     // of an arena of tensors with pages of their own (Home::own): comes and goes with the tensor
    resident,  // as `arena`
  };
  Of of = Of::arena;
  std::uint32_t index = 0;              // into Plan::arenas, Plan::entries or Residency::residents
  std::uint64_t offset = 0;             // of its first byte in that, a multiple of kPage
  std::uint64_t bytes = 0;              // a multiple of kPage, but for the end of an entry or a resident
  tier::Tier begin = tier::Tier::fast;  // as the iteration begins; of an entry: as it is allocated

  bool operator==(const Stretch&) const = default;
};

struct Move {
  std::uint32_t stretch = 0;
  tier::Tier to = tier::Tier::fast;
  std::uint32_t at = 0;   // ops
  std::uint32_t due = 0;  // ops, >= at; Residency::ops = the end of the iteration
  std::uint64_t ns = 0;   // from at to due, foreseen
  bool wait = false;      // worth stopping the program for when it is late
  bool clean = false;     // not written since it was fetched: dropped where the backend can (tier/backend.h)

  bool operator==(const Move&) const = default;
};

// What the simulator expects of one iteration.
struct Prediction {
  std::uint64_t step_ns = 0;
  std::uint64_t all_fast_ns = 0, all_slow_ns = 0;
  std::uint64_t first_touch_ns = 0;  // with as much fast memory, taken by who comes first
  std::uint64_t stall_ns = 0;        // of it, waiting for moves
  std::uint64_t fast_peak = 0;       // bytes
  std::uint64_t fast_average = 0;    // over time

  bool operator==(const Prediction&) const = default;
};

struct Residency {
  std::string policy;                 // empty: the plan says nothing of tiers
  std::string machine;                // name
  std::uint64_t fast_capacity = 0;    // bytes
  std::uint32_t ops = 0;              // that the main thread ends in an iteration
  std::vector<std::uint32_t> births;  // by entry: the clock as it is allocated; empty if nothing moves
  std::vector<Resident> residents;
  std::vector<Stretch> stretches;  // those of one entry side by side
  std::vector<Move> moves;         // by `at`
  Prediction prediction;
  Account account;

  bool present() const { return !policy.empty(); }
  bool operator==(const Residency&) const = default;
};

}  // namespace hearth::plan
