// Reader of configuration files: lines of NAME=value, # starts a comment, a value may stand in quotes.
//
// Called by load() on its thread. Streams through one buffer on the stack: no allocation, no stdio, no lock.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/problems.h"

namespace hearth::config {

using TakeLine = void (*)(void* context, std::uint32_t line, std::string_view name, std::string_view value);

// Calls `take` for every setting in the file; lines that are none are problems. 0, or the errno value of the failure.
int read_config_file(const char* path, TakeLine take, void* context, Problems& problems);

}  // namespace hearth::config
