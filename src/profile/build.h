// build: from the events of one iteration to its Profile. A pure function: no clock, file or global is looked at.
//
// Called by the runtime when a profiled iteration has closed, and by the tools on a trace file. Robust against any
// sequence of events: whatever does not fit together is counted in Profile::anomalies. O(n log n) in time and O(n) in
// memory for n events. Allocates; throws only std::bad_alloc.
//
// How events are credited:
//   - ops nest per thread; an end closes the nearest open op of that name on its thread;
//   - operands, births and deaths belong to the innermost open op of their thread, else to kOutside;
//   - faults and samples to the innermost open op of their thread, else of thread 0 (OpenMP workers open no ops), else
//     to kOutside;
//   - an op belongs to the innermost nn.Module open at its begin; a backward op (RecordScope BACKWARD_FUNCTION) and
//   what
//     runs in it to the module of the last forward op that carries the same autograd sequence number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

// `names[i]` is the text of name id i; names[0] = "". Ids beyond it count as no name.
// `dropped` is the number of events that did not fit the log.
Profile build(std::span<const hearth_event> events, std::vector<std::string> names, const Thresholds& thresholds = {},
              std::uint64_t dropped = 0);

}  // namespace hearth::profile
