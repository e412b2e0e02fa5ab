// PyTorch's RecordFunction callbacks, registered by level.
//
// The level may change at any moment, also from inside a callback: each RecordFunction carries copies of the callbacks
// that it began with, so every begin gets the end of its own level whatever is registered by then.
#pragma once

#include <cstdint>

namespace hearth::adapter {

// 0, EINVAL for an unknown level, EBUSY when another thread is changing the level, EIO when PyTorch refused.
int set_level(std::uint32_t level);

// True if the installed PyTorch lays RecordFunction out as the headers say that this adapter was built with.
bool layout_matches();

}  // namespace hearth::adapter
