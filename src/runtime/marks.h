// The runtime's half of the bridge: what the adapter calls at every op, operand, step and module.
#pragma once

#include "base/bridge_abi.h"

namespace hearth::runtime {

extern const hearth_bridge kBridge;

// Marks of the public API; the calling thread becomes the one whose iterations count.
void mark_begin();
void mark_end();

}  // namespace hearth::runtime
