// skyline: packs from the bottom up, as profile-guided planners do (Sekiyama et al., "Profile-guided memory
// optimization for deep neural networks", 2018, section 4): where the profile of heights over time is lowest, lay the
// most valuable item that fits between the walls to both sides; where none fits, raise the floor to the lower wall.
// Here time is a ring.
//
// Pure; allocates; throws only std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/placement.h"

namespace hearth::plan {

// One value for each arc, the larger the better. The result is one offset for each arc.
std::vector<std::uint64_t> skyline(std::span<const Arc> arcs, std::uint32_t period, std::span<const double> values);

}  // namespace hearth::plan
