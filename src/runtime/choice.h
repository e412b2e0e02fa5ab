// Which iteration is profiled, and whether what was profiled is what was meant. Called at the end of iterations, by the
// thread that runs them.
#pragma once

#include <cstdint>

#include "iteration/detector.h"

namespace hearth::runtime {

// Once for every closed iteration, before the questions below.
void count_shape(const iteration::Closed& closed);
// Is the next iteration to be profiled?
bool time_to_profile(const iteration::Closed& closed);
// The profiled iteration is closed: does it count?
bool as_expected(const iteration::Closed& closed);
// Will an iteration be profiled soon, so that ops have to be watched?
bool profile_pending();
// No profile any more, until the runtime leaves a plan.
void give_up_profiling();

}  // namespace hearth::runtime
