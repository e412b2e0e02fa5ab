// Idle: what is alive at the begin of the iteration and that no event tells of. It belongs to no layer that one could
// see, but there may be more of it in the deeper trace.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "profile/trace_file.h"

namespace hearth::scale {

// By serial number of the large trace: how many there are to be besides, if `times` the difference between the two
// traces is added.
std::unordered_map<std::uint32_t, std::uint64_t> idle_ones(const profile::Trace& small, const profile::Trace& large,
                                                           double times);

}  // namespace hearth::scale
