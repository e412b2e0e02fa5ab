// Times: how long each op of the larger trace takes itself, there and at the target.
//
// Ops of one name whose operands and allocations have the same bytes at both sizes are one kind and take the mean of
// what its ops were measured with, as measurements of short ops scatter and extrapolation would multiply that. A kind
// takes a time on the line through its two means; one that handles bytes, but none more at the larger size, takes
// what it took there. Ops that are in the larger trace alone grow in proportion. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/trace_file.h"
#include "scale/fit.h"
#include "scale/match.h"
#include "scale/walk.h"

namespace hearth::scale {

struct Times {
  std::vector<double> measured_ns;  // of each op, without those inside it; of what is outside any op last
  std::vector<double> target_ns;    // likewise
  std::uint64_t kinds = 0;
  std::uint64_t shorter = 0;  // ops of kinds that grow, but took less at the larger size
  double shorter_ns = 0;      // what they took there
};

// A trace and walk() of it.
struct Walked {
  const profile::Trace& trace;
  std::span<const Step> steps;
};

Times times_of(const Walked& small, const Walked& large, const Match& match, const Sizes& sizes);

}  // namespace hearth::scale
