// scale: the trace that a program would leave at a size that was never run, from its traces at two smaller ones.
//
// The events are those of the larger trace. The bytes of each tensor and operand lie on the line through the two, and
// so does the time of each op (times.h). What only the larger trace has grows in proportion. Called by `hearth scale`.
// A pure function; allocates.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "profile/trace_file.h"
#include "scale/fit.h"

namespace hearth::scale {

struct Facts {
  std::uint64_t compared = 0, alone = 0;            // events of both traces, and those without counterpart
  std::uint64_t ops = 0, ops_alone = 0, kinds = 0;  // of the larger trace; kinds: of ops that take the same time
  std::uint64_t tensors = 0, growing = 0;  // of the larger trace; growing: larger there than in the smaller one
  std::uint64_t alone_tensors = 0, alone_bytes = 0;  // made in the iteration of the larger trace only
  std::uint64_t shrinking = 0;  // tensors that are smaller in the larger trace: they stay as they are
  std::uint64_t steeper = 0;    // tensors that grow faster than the size: no line through zero or above
  std::uint64_t shorter = 0;    // ops likewise; and what they took
  double shorter_ns = 0;
  double small_ns = 0, large_ns = 0, target_ns = 0;  // an iteration
};

struct Scaled {
  profile::Trace trace;
  Facts facts;
};

// An error, in one sentence, if the two do not fit together or one of them cannot be scaled.
Result<Scaled> scale(const profile::Trace& small, const profile::Trace& large, const Sizes& sizes);

}  // namespace hearth::scale
