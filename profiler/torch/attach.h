// The runtime's table, as the adapter's other files see it.
// Written once by hearth_torch_attach before the first callback is registered, constant from then on.
#pragma once

#include "base/bridge_abi.h"

namespace hearth::adapter {

extern const hearth_bridge* g_bridge;

enum class LogLevel : unsigned { error = 0, warning = 1, info = 2, debug = 3 };
void log(LogLevel level, const char* message);

}  // namespace hearth::adapter
