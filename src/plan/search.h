// Search: orders in which first fit packs well. The start is the best of several sorted orders; from there a local
// search moves forward whatever would not fit below the height that is aimed at.
//
// Pure but for the clock behind the time budget. Allocates; throws only std::bad_alloc.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/placement.h"

namespace hearth::plan {

struct SearchLimits {
  std::uint64_t lower_bound = 0;  // reached: done
  std::uint32_t attempts = 0;
  std::chrono::steady_clock::time_point deadline;
};

struct Found {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> order;  // that yields them
  std::uint64_t height = 0;
  std::uint32_t attempts = 0;
  bool out_of_time = false;
};

// At least one order is tried, whatever the limits.
Found search(std::span<const Arc> arcs, std::uint32_t period, const SearchLimits& limits);

}  // namespace hearth::plan
