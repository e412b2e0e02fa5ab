// validate: proves a plan without trusting how it was made: sizes, order, alignment, capacities, and that no two
// entries alive at once share an address. Knows nothing of the packer.
//
// Called on every plan before it is followed: from the packer, from a file. O(n log n); allocates, throws nothing.
#pragma once

#include "base/result.h"
#include "plan/plan.h"

namespace hearth::plan {

// The error names the entries that are at fault, by their index.
Result<void> validate(const Plan& plan) noexcept;

}  // namespace hearth::plan
