// Node lists as numactl writes them: "0-2,5", "all", "!3", "+0-1".
//
// Called while the tiers are chosen (first tensor allocation) and by tools, any thread. Pure: no lock, no allocation,
// no locale, no exception; problems are told as one sentence.
#pragma once

#include <string_view>

#include "base/text.h"
#include "platform/os_numa.h"

namespace hearth::tier {

// Nodes that are named must be in `there`. "all" is `usable`; "!list" is what of `usable` the list leaves out; "+0" is
// the first node of `usable`. Empty text is a problem. On failure `nodes` is untouched and `problem` says what and why.
bool parse_nodes(std::string_view text, const os::NodeMask& there, const os::NodeMask& usable, os::NodeMask& nodes,
                 text::Writer& problem);

// The kernel's own lists, as in .../node/online: names any node, empty text is the empty set. False if it is none.
bool parse_kernel_list(std::string_view text, os::NodeMask& nodes);

// "0-2,5"; "none" for the empty set.
void write_nodes(text::Writer& out, const os::NodeMask& nodes);

}  // namespace hearth::tier
