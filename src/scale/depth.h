// Depth: the trace that a program would leave with more layers, from its traces at two smaller depths.
//
// Where the deeper trace repeats itself more often than the other one are its layers (repeats.h, layers.h); one of them
// whose tensors are used as its neighbors' are is repeated (pattern.h, deepen.h). Taking the layers away again that the
// deeper trace has more must give the smaller one, pointer by pointer, or there is no trace. Called by
// `hearth scale --depth`. A pure function; allocates.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "profile/trace_file.h"
#include "scale/fit.h"

namespace hearth::scale {

struct DepthFacts {
  std::uint64_t compared = 0, alone = 0;  // events of both traces, and those that neither repeat nor have a counterpart
  std::uint64_t phases = 0, stacks = 0;   // stretches of repeated layers; groups of them that have nothing in common
  double layers = 1;                      // that are repeated as one
  std::uint64_t units = 0;                // added, of so many layers each
  std::uint64_t events = 0, ops = 0, tensors = 0;    // of one
  double small_ns = 0, large_ns = 0, target_ns = 0;  // an iteration
};

struct Deep {
  profile::Trace trace;
  DepthFacts facts;
};

// An error, in one sentence, if the two do not fit together, or have no layers that can be told, or no whole number of
// them leads to the target.
Result<Deep> scale_depth(const profile::Trace& small, const profile::Trace& large, const Sizes& depths);

}  // namespace hearth::scale
