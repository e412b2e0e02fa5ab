// Schedule: where the pieces of a workload's objects lie as its iteration begins, and what moves while it runs.
//
// The plain value that a policy makes and the simulator judges; what becomes of it in a plan is plan/residency.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tier/tier.h"

namespace hearth::simulate {

// A part of an object that is always on one tier together. It takes room on the fast tier only while its object is
// alive.
struct Piece {
  std::uint32_t object = 0;
  double share = 1;                     // of the object's bytes and of its traffic, 0..1
  std::uint64_t bytes = 0;              // whole pages
  tier::Tier begin = tier::Tier::fast;  // residents: as the iteration begins; else as it is born
  bool pooled = false;                  // lies in the pool: fast, in room that is set aside for that (Schedule::pool)
};

// Asked for as op `at` begins, to be over before op `due` does (at <= due <= ops.size(), the end of the iteration).
struct Move {
  std::uint32_t piece = 0;
  tier::Tier to = tier::Tier::fast;
  std::uint32_t at = 0;
  std::uint32_t due = 0;
  double ns = 0;       // from at to due, foreseen
  bool wait = false;   // stop the program for it when it is late
  bool clean = false;  // to slow, and not written since it was fetched: takes no time on a machine that keeps copies
};

struct Schedule {
  double capacity = 0;        // bytes of the fast tier; 0 = no limit
  double pool = 0;            // of them, taken all the time
  std::vector<Piece> pieces;  // of each object all of it, in one piece or several
  std::vector<Move> moves;    // by `at`
};

}  // namespace hearth::simulate
