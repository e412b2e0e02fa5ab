// Links: each event points to the first one that has to do with its tensor, or with its autograd sequence number.
//
// So a trace becomes a string with pointers, in which serial numbers no longer matter. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/trace_file.h"
#include "scale/align.h"

namespace hearth::scale {

enum class Link { kTensor, kSequence };

// Of each of the events in `places` the index in `places` of the first one with its tensor; its own if it is the first,
// kAlone where it has none.
std::vector<std::uint32_t> links_of(const profile::Trace& trace, std::span<const std::uint32_t> places, Link link);

}  // namespace hearth::scale
