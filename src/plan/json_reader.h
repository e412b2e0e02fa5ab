// Reads a plan from JSON: strict, bounded, and nothing passes that validate() refuses. Runs inside the training
// process (HEARTH_PLAN) as well as in tools, on files that anybody may have edited; so it depends on the C++ standard
// library alone, never recurses deeper than the format does, and takes memory in proportion to the text.
//
// Allocates; throws nothing. An error names file, line and column, and the cure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace hearth::plan {

// `name` is what errors call the text.
Result<Plan> parse_plan(std::string_view text, const std::string& name) noexcept;

Result<Plan> load_plan(const std::string& path) noexcept;

}  // namespace hearth::plan
