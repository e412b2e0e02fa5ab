// Residency: on which tier the tensors of an iteration lie as it begins, and what moves while it runs. Part of a Plan;
// made by a policy (src/policy), carried out by the runtime: it knows nothing of threads or the kernel's pages.
//
// The clock is the sequence of Plan::entries, as everywhere in a plan: a move is asked for as entry `at` is about to be
// allocated and shall be over before entry `due` is. The next iteration goes through the same states again, so the
// moves of one iteration lead from the tiers at its begin back to the same tiers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tier/tier.h"

namespace hearth::plan {

// A tensor on pages of its own that is alive as the iteration begins and is no entry: a weight, optimizer state. Found
// again as the `nth` live tensor of `bytes` bytes, from 0, in order of birth.
struct Resident {
  std::uint64_t bytes = 0;
  std::uint32_t nth = 0;

  bool operator==(const Resident&) const = default;
};

// Whole pages that are always on one tier together. Stretches do not overlap; what no stretch covers is fast.
struct Stretch {
  bool resident = false;  // index: into Residency::residents, else into Plan::arenas
  std::uint32_t index = 0;
  std::uint64_t offset = 0;  // of its first byte, a multiple of kPage
  std::uint64_t bytes = 0;   // a multiple of kPage, but for the end of a resident
  tier::Tier begin = tier::Tier::fast;

  bool operator==(const Stretch&) const = default;
};

struct Move {
  std::uint32_t stretch = 0;
  tier::Tier to = tier::Tier::fast;
  std::uint32_t at = 0;   // entry
  std::uint32_t due = 0;  // entry, >= at; entries.size() = the end of the iteration
  bool clean = false;     // not written since it was last fetched
  bool dead = false;      // no entry lives in the stretch from `at` to `due`: its contents need not survive
  bool wait = false;      // worth stopping the program for when it is late

  bool operator==(const Move&) const = default;
};

// What the simulator expects of one iteration.
struct Prediction {
  std::uint64_t step_ns = 0;
  std::uint64_t all_fast_ns = 0, all_slow_ns = 0;
  std::uint64_t stall_ns = 0;      // of it, waiting for moves
  std::uint64_t fast_peak = 0;     // bytes
  std::uint64_t fast_average = 0;  // over time

  bool operator==(const Prediction&) const = default;
};

struct Residency {
  std::string policy;               // empty: the plan says nothing of tiers
  std::string machine;              // name
  std::uint64_t fast_capacity = 0;  // bytes
  std::vector<Resident> residents;
  std::vector<Stretch> stretches;
  std::vector<Move> moves;  // by `at`
  Prediction prediction;

  bool present() const { return !policy.empty(); }
  bool operator==(const Residency&) const = default;
};

}  // namespace hearth::plan
