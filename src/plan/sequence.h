// Sequence: a plan as the runtime follows it: sizes in order, and where each lies, all arenas of the plan one after the
// other in one range of addresses (each begins at a multiple of 2 MiB, so that it can be moved between tiers alone).
//
// The seam between the hot runtime and the planner, which allocates: both functions catch what is thrown below them.
// The result lives for the rest of the process. Thread that runs the iterations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "arena/layout.h"
#include "base/result.h"
#include "plan/plan.h"
#include "profile/profile.h"

namespace hearth::plan {

struct Sequence {
  Plan plan;
  std::vector<std::uint64_t> sizes;
  std::vector<arena::Place> places;
  std::vector<std::uint64_t> bases;  // of the plan's arenas in the common range
  std::uint64_t height = 0;
  std::uint32_t planned = 0;  // entries that are not left to the heap
  std::uint64_t pack_ns = 0;  // what planning took; 0 if the plan was loaded
};

// Null, and one sentence in why[0..capacity), if there is no plan.
const Sequence* plan_sequence(const profile::Profile& profile, std::uint64_t min_bytes, bool elastic, char* why,
                              std::size_t capacity) noexcept;
const Sequence* load_sequence(const char* path, char* why, std::size_t capacity) noexcept;
// Of any plan that is being made of the profile, or of its elastic copy, and what making it took.
using MakePlan = std::function<Result<Plan>(const profile::Profile&)>;
const Sequence* made_sequence(const profile::Profile& profile, std::uint64_t min_bytes, bool elastic,
                              const MakePlan& make, char* why, std::size_t capacity) noexcept;

}  // namespace hearth::plan
