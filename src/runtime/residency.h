// Residency at run time: the plan says which stretch of memory lies on which tier and what moves while an iteration
// runs; this finds the stretches' addresses, brings everything to where it shall be, gives new tensors their tiers, and
// asks the migrator for each move when its time has come.
//
// The clock is the number of ops that have ended in the iteration (plan/residency.h). Hot: residency_op_ended is on the
// way of every op, residency_allocated of every planned allocation while a plan has a residency; mostly one comparison.
// All of it belongs to the thread that runs the iterations, but for residency_freed.
#pragma once

#include <cstdint>

#include "arena/packed_arena.h"
#include "migrate/request.h"
#include "plan/residency.h"
#include "tier/pages.h"

namespace hearth::plan {
struct Sequence;
}

namespace hearth::runtime {

struct Residence {
  static constexpr std::uint32_t kNever = 0xffffffffu;

  const plan::Residency* plan = nullptr;   // null: the policy places pages by itself (tiers.h)
  tier::Extent* stretches = nullptr;       // addresses; 0 bytes where the tensor was not found
  migrate::Ticket* last = nullptr;         // of each stretch: its latest move
  std::uint32_t* last_fetch = nullptr;     // of each stretch: its latest fetch, in moves; kNever: none yet
  migrate::Ticket* tickets = nullptr;      // of each move, of this iteration or the last
  std::uint32_t* by_due = nullptr;         // moves in order of `due`
  std::uint32_t* first_stretch = nullptr;  // of each entry; kNever: it has no pages of its own
  std::uint64_t allocated = 0;             // rows that the tables have
  std::uint32_t next = 0;                  // move to be asked for
  std::uint32_t next_due = 0;              // place in by_due
  std::uint32_t clock = 0;                 // ops
  std::uint32_t next_at = kNever;          // the clock at which there is something to do

  bool moves() const { return plan != nullptr && !plan->moves.empty(); }

  std::uint64_t missing = 0;          // residents of the plan that are not there
  std::uint64_t asked = 0, late = 0;  // moves
  std::uint64_t waited_ns = 0;        // of the program for moves
};

// The current plan has a residency: everything goes to where it is as an iteration begins. Between two iterations.
// `patient`: returns when all of it is there; else the program goes on, and what is not there yet is used where it is.
void settle_residency(const plan::Sequence& sequence, bool patient);
void leave_residency();

// The clock has come to Residence::next_at.
void residency_due();
// An op of the main thread has ended, while Residence::next_at is not kNever.
void residency_op_ended();
// Entry `entry` is about to be allocated; and it has been, there.
void residency_comes_to(std::uint32_t entry);
void residency_born(std::uint32_t entry);
// The planned tensor that begins there is about to be freed: pages of its own go with it. Any thread.
void residency_freed(const arena::PackedArena& arena, const void* pointer);
// The iteration is over: what it did not come to is asked for now, so that the next one begins as planned.
void residency_iteration_closed();

}  // namespace hearth::runtime
