// Residency at run time: the plan says which stretch of memory lies on which tier as an iteration begins and what moves
// while it runs; this finds the stretches' addresses, brings everything to where it shall be, and asks the migrator for
// each move as the allocation comes by that triggers it.
//
// Hot: residency_step is on the way of every planned allocation, one comparison unless a move is due. All of it belongs
// to the thread that runs the iterations.
#pragma once

#include <cstdint>

#include "migrate/request.h"
#include "plan/residency.h"
#include "tier/pages.h"

namespace hearth::plan {
struct Sequence;
}

namespace hearth::runtime {

struct Residence {
  static constexpr std::uint32_t kNever = 0xffffffffu;

  const plan::Residency* plan = nullptr;  // null: the policy places pages by itself (tiers.h)
  tier::Extent* stretches = nullptr;      // addresses; 0 bytes where the tensor was not found
  migrate::Ticket* tickets = nullptr;     // of each move, of this iteration or the last
  std::uint32_t* by_due = nullptr;        // moves in order of `due`
  std::uint64_t allocated = 0;            // entries that the tables have room for
  std::uint32_t next = 0;                 // move to be asked for
  std::uint32_t next_due = 0;             // place in by_due
  std::uint32_t next_at = kNever;         // entry at which there is something to do
  std::uint64_t entry_ns = 0;             // what an entry takes on average, for deadlines

  std::uint64_t missing = 0;          // residents of the plan that are not there
  std::uint64_t asked = 0, late = 0;  // moves
  std::uint64_t waited_ns = 0;        // of the program for moves
};

// The current plan has a residency: everything goes to where it is as an iteration begins. Between two iterations.
void settle_residency(const plan::Sequence& sequence);
void leave_residency();

// Entry `entry` is about to be allocated.
void residency_due(std::uint32_t entry);
// The iteration is over: what it did not come to is asked for now, so that the next one begins as planned.
void residency_iteration_closed();

}  // namespace hearth::runtime
