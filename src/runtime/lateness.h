// Lateness: of each planned move, how often it was not over when it was due, and for how long it went on then.
//
// A move that is found pending at its time is remembered; the mover writes down when it ends, and that is read when the
// iteration is over, or when the move is asked for again. What is told is steady: since the last plan has settled.
//
// By the thread that runs the iterations; reports read the figures at any time. No lock, and no memory taken but in
// begin(); nothing is ever given back, since a mover may still write to it.
#pragma once

#include <atomic>
#include <cstdint>

#include "report/tier_facts.h"

namespace hearth::runtime {

class Lateness {
 public:
  constexpr Lateness() = default;

  // A plan with so many moves is followed from now on. False if there is no memory for the tables.
  bool begin(std::uint64_t moves);
  // The figures begin anew.
  void restart();
  // The move is being asked for: where its end is to be written down.
  std::atomic<std::uint64_t>* asked(std::uint32_t move, std::uint64_t now_ns);
  // It is due, and pending.
  void overdue(std::uint32_t move, std::uint64_t now_ns);
  void iteration_closed();

  const report::Punctuality* moves() const { return moves_; }
  std::uint64_t late_ns() const { return late_ns_; }  // of all, since the start

 private:
  std::uint64_t end_of(std::uint32_t move) const;
  void close(std::uint32_t move, std::uint64_t until_ns);

  std::atomic<std::uint64_t>* over_ns_ = nullptr;  // by move: when its latest request ended; 0 = it has not
  std::uint64_t* overdue_ns_ = nullptr;            // when it was found late; 0 = it was not
  report::Punctuality* moves_ = nullptr;
  std::uint64_t rows_ = 0;   // that the tables have
  std::uint32_t count_ = 0;  // of moves of the plan
  std::uint32_t open_ = 0;   // found late, and not known to be over
  std::uint64_t late_ns_ = 0;
};

}  // namespace hearth::runtime
