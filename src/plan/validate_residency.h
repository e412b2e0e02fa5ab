// Proves the residency of a plan without trusting the policy: stretches lie where they say and do not overlap, moves
// come in order and lead back to where the iteration began, and nothing is promised to the fast tier beyond its
// capacity.
//
// Called by validate(). The residents' sizes are the program's business: what of them lies fast is not in the plan, so
// the capacity is checked for the arenas alone, at every place of the sequence, moves counted at both ends. Allocates.
#pragma once

#include "base/result.h"
#include "plan/plan.h"

namespace hearth::plan {

Result<void> validate_residency(const Plan& plan);

}  // namespace hearth::plan
