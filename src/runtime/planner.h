// Planner: `hearth plan --policy autotm` beside the training, on its trace: the program that solves for a better plan
// than sentinel's is another process, of the lowest priority, and the training goes on meanwhile. What it finds is
// tried in real steps against the plan that is followed (trials.h), and kept if it is quicker.
//
// Only if HEARTH_AUTOTM gives it seconds, once in a training, for the first plan of tiers of its true iterations. It
// ends when the training does. Whatever goes wrong is one line, and the plan that is there stays.
//
// By the thread that runs the iterations, between two of them; planner_end also at exit.
#pragma once

#include <cstdint>

#include "report/facts.h"

namespace hearth::runtime {

struct FollowedPlan;

struct Planner {
  static constexpr std::size_t kPath = 512;

  report::TrialFacts::Autotm state = report::TrialFacts::Autotm::off;
  std::uint32_t pid = 0;
  std::uint64_t look_ns = 0;  // when to look for the plan again
  const FollowedPlan* former = nullptr;
  char folder[kPath] = {};
};

// A plan of tiers made from the profile begins to be followed; the events are still there.
void planner_begin();
// An iteration is over, and the plans there are have been tried.
void planner_look(std::uint64_t now_ns);
// The iteration that it solves for is none of the loop. Its tool ends by itself.
void planner_forget();
// Nothing of it stays behind.
void planner_end();

}  // namespace hearth::runtime
