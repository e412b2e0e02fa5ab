// OpTimes: for `hearth profile-ops`, when the ops of iterations under given plans begin and end.
//
// HEARTH_OP_TIMES names a folder with plans plan-0.json, plan-1.json ... Each is followed for kSettling iterations, in
// which everything comes to lie where it says, then for kIterations more, whose op marks are logged and written to
// times-<plan>-<iteration>.trace there. An op's time is what its placement makes it: with what an emulated tier
// charges. Behind the last plan, or the kPlans-th, `done` is written, and the program goes on as it is.
//
// By the thread that runs the iterations, between two of them; `open` is read by every op mark.
#pragma once

#include <cstdint>

namespace hearth::runtime {

struct OpTimes {
  static constexpr std::uint32_t kSettling = 3, kIterations = 5;

  bool open = false;         // ops of this iteration are logged
  bool done = false;         // no more plans
  std::uint32_t plan = 0;    // that comes next
  std::uint32_t closed = 0;  // iterations under the one before it
};

// An iteration is over: writes what was logged.
void close_op_times(std::uint64_t iteration);
// The next one begins: under the next plan, or with a log.
void open_op_times();

}  // namespace hearth::runtime
