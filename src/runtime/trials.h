// Trials: what a plan does is measured in real steps and compared: with what it reckoned with, with another plan, and
// with no plan at all. The quickest stays, by some hundredths at least, so that noise changes nothing.
//
// Once a plan has settled, kSteps steps on it are measured. Then, each only if there is a reason:
//   as measured   Steps compute for another time than the plan reckoned with: one is made with the measured time.
//   slower moves  Steps take longer than foreseen: one is made that leaves the moves more time (Sentinel, HPCA 2021,
//                 section 4: case 3, out of time).
//   no plan       Steps take longer than the simulator foresees for first touch, or, on one tier, than they took before
//                 the plan: the plan is left for as many steps, and for good if those are quicker than the ones before
//                 and the ones after, on the plan again.
// Then it has converged, which the log and the report say. A loop of several shapes is not tried: its steps cannot be
// compared.
//
// By the thread that runs the iterations, between two of them. Making a plan allocates, nothing else does.
#pragma once

#include <cstdint>

#include "report/facts.h"

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
  FollowedPlan* best = nullptr;        // of the plans measured
  std::uint64_t best_ns = 0;
  report::TrialFacts facts;
};

// A plan begins to be followed that has no trial yet.
void trials_begin();
// Everything lies where the plan wants it.
void trials_settled();
// A step is over, managed or not.
void trials_step(std::uint64_t step_ns, std::uint64_t own_ns, bool on_plan);
// The plan was left for another reason.
void trials_end();

}  // namespace hearth::runtime
