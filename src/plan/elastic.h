// Elastic plans, for loops whose sizes depend on the data: the rows that a batch touches of an embedding, say, give the
// same ops tensors of nearly the same sizes in every iteration. Each planned tensor gets a slot that is somewhat larger
// than it was, and whatever fits the slot and does not leave much of it empty may take it.
#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace hearth::plan {

// A slot may stay empty by one in so many of its bytes, as a shift: a quarter.
constexpr std::uint32_t kElasticShift = 2;

// A sixteenth more, and then up to the next of eight sizes per doubling, so that a tensor and its counterpart of the
// former iteration (make_plan.h) mostly get the same.
std::uint64_t elastic_bytes(std::uint64_t bytes);

// A copy in which all tensors of at least min_bytes that the iteration gives birth to or sees the end of are so large.
profile::Profile elastic(const profile::Profile& profile, std::uint64_t min_bytes);

}  // namespace hearth::plan
