// A plan as JSON (docs/plans.md describes every member). Allocates; throws only std::bad_alloc.
#pragma once

#include <string>

#include "plan/plan.h"

namespace hearth::plan {

std::string to_json(const Plan& plan);

}  // namespace hearth::plan
