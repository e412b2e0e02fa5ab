// Trials: what a plan does is measured in real steps and compared: with what it reckoned with, with another plan, and
// with no plan at all. The quickest stays, by some hundredths at least, so that noise changes nothing.
//
// Once a plan has settled, kSteps steps on it are measured. Then, each only if there is a reason:
//   as measured   Steps compute for another time than the plan reckoned with: one is made with the measured time.
//   slower moves  Steps take longer than foreseen: one is made that leaves the moves more time (Sentinel, HPCA 2021,
//                 section 4: case 3, out of time).
//   no plan       Steps take longer than the simulator foresees for first touch, or, on one tier, than they took before
//                 the plan: the plan is left for as many steps, and for good if those are quicker than the ones before
//                 and the ones after, on the plan again: in the middle and, but for a quarter of each, all of them.
//   autotm        One has come from the planner (planner.h): the present plan is measured anew, and then that one.
// Then it has converged, which the log and the report say. A loop of several shapes is not tried: its steps cannot be
// compared. HEARTH_TRIALS=0: nothing is.
//
// By the thread that runs the iterations, between two of them. Making a plan allocates, nothing else does.
#pragma once

#include <cstdint>

#include "report/facts.h"

namespace hearth::plan {
struct Sequence;
}

namespace hearth::runtime {

struct FollowedPlan;

struct Trials {
  static constexpr std::uint32_t kSteps = 8;
  static constexpr std::uint32_t kRows = report::TrialFacts::kRows;

  enum class Stage : std::uint8_t { idle, settling, measuring, unmanaged, settling_again, again, done };

  Stage stage = Stage::idle;
  std::uint32_t count = 0;             // steps measured in this stage
  std::uint64_t step_ns[kSteps] = {};  // as they took
  std::uint64_t own_ns[kSteps] = {};   // without what was charged and waited for
  std::uint64_t reckoned_ns = 0;       // own time that the plan was made with
  FollowedPlan* offered = nullptr;     // to be tried next
  FollowedPlan* best = nullptr;        // of the plans measured
  std::uint64_t best_ns = 0;
  std::uint64_t quick_ns = 0;         // a quarter of the best one's steps took less
  std::uint64_t slow_without_ns = 0;  // a quarter of those without a plan took more
  report::TrialFacts facts;
};

// A plan begins to be followed that has no trial yet.
void trials_begin();
// Everything lies where the plan wants it.
void trials_settled();
// A step is over, managed or not.
void trials_step(std::uint64_t step_ns, std::uint64_t own_ns, bool on_plan);
// None is under way.
bool trials_over();
// One from elsewhere (planner.h), for the iterations of the plan that is followed: both are measured.
void trials_offer(const plan::Sequence& sequence);
// The plan was left for another reason.
void trials_end();
// What was measured was not the loop.
void trials_forget();

}  // namespace hearth::runtime
