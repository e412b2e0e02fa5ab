// Which nodes are fast and which are slow: decided by what is known of their speed, never by who has processors where a
// figure says otherwise (high-bandwidth memory is a node without processors, and the fast one).
//
// In this order: the user's lists; bandwidth, then latency that the firmware reports for this process's processors; the
// kernel's memory tiers; distance from those processors, where "no processors means slow" helps only to pick among
// nodes of which nothing else is known, and is said.
//
// Pure, any thread: no lock, no allocation, no exception.
#pragma once

#include <string_view>

#include "tier/topology.h"

namespace hearth::tier {

struct TierChoice {
  os::NodeMask fast;
  os::NodeMask slow;
  char how[320] = {};      // one sentence: what decided
  char problem[384] = {};  // why there are not two tiers and what helps; "" if there are

  bool two_tiers() const { return problem[0] == '\0'; }
};

// `fast` and `slow` are the user's lists; empty = not given. One list given makes the other the rest of what is usable.
TierChoice choose_tiers(const Topology& topology, const os::NodeMask& fast, const os::NodeMask& slow);

// The same from the texts of HEARTH_FAST_NODES and HEARTH_SLOW_NODES; "" = not given. A bad list is the problem.
TierChoice choose_tiers(const Topology& topology, std::string_view fast, std::string_view slow);

}  // namespace hearth::tier
