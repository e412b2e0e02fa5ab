// Cycle: what took how long in another iteration of the same program, wherever the two begin.
//
// Where nothing but their repetition tells iterations, as in a program without an optimizer of PyTorch's, one may be
// cut at another op than the next, and inside one: that op is then begun at the end of the iteration and ended at its
// beginning, and took both times together.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace hearth::costs {

// ns without nested ops, by op of the profile, 0 for other threads' ops. Empty: the main thread runs other ops.
std::vector<std::uint64_t> times_in(const profile::Profile& timed, const profile::Profile& profile);

}  // namespace hearth::costs
