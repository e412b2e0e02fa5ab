// Own pages: what is too small for pages of its own may grow out of that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "profile/trace_file.h"

namespace hearth::scale {

inline bool is_birth(const hearth_event& event) {
  return event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC;
}

// The fewest bytes of a tensor that had pages of its own.
inline std::uint64_t least_on_own_pages(const profile::Trace& trace) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const hearth_event& event : trace.events) {
    if (is_birth(event) && (event.flags & HEARTH_EVENT_FLAG_OWN_PAGES) != 0) least = std::min(least, event.bytes);
  }
  return least;
}

inline void grow_to(hearth_event& event, std::uint64_t bytes, std::uint64_t least) {
  if (is_birth(event) && event.bytes < least && bytes >= least) event.flags |= HEARTH_EVENT_FLAG_OWN_PAGES;
  event.bytes = bytes;
}

}  // namespace hearth::scale
