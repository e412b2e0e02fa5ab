// A plan as JSON (docs/plans.md describes every member), and as a file. Called by tools and, once, by the runtime;
// allocates; throws only std::bad_alloc.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace hearth::plan {

std::string to_json(const Plan& plan);

// Through a temporary file: `path` is whole or as it was.
Result<void> save_plan(const Plan& plan, const std::string& path);

}  // namespace hearth::plan
