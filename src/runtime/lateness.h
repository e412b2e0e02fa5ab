// Lateness: of each planned move, how often it was not over when it was due, and for how long it went on then.
//
// A move that is found pending at its time is remembered; the mover writes down when it ends, and that is read when the
// iteration is over, or when the move is asked for again. What is told is steady: since the last plan has settled.
//
// By the thread that runs the iterations; reports read the figures at any time. One comparison where nothing is late,
// no lock, no allocation but in lateness_begins.
#pragma once

#include <atomic>
#include <cstdint>

#include "report/tier_facts.h"

namespace hearth::runtime {

struct Lateness {
  std::atomic<std::uint64_t>* over_ns = nullptr;  // by move: when its latest request ended; 0 = it has not
  std::uint64_t* overdue_ns = nullptr;            // when it was found late; 0 = it was not
  report::Punctuality* moves = nullptr;
  std::uint64_t rows = 0;     // that the tables have
  std::uint32_t count = 0;    // of moves of the plan
  std::uint32_t open = 0;     // found late, and not known to be over
  std::uint64_t late_ns = 0;  // of all, since the start
};

// A plan with so many moves is followed from now on. False if there is no memory for the tables.
bool lateness_begins(std::uint64_t moves);
// The figures begin anew.
void lateness_restarts();
// The move is being asked for: where its end is to be written down.
std::atomic<std::uint64_t>* lateness_asked(std::uint32_t move);
// It is due, and pending.
void lateness_overdue(std::uint32_t move, std::uint64_t now_ns);
void lateness_iteration_closed();

}  // namespace hearth::runtime
