// What the commands that read a trace say of one that `hearth scale` made. Main thread; allocates.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "profile/trace_file.h"

namespace hearth::cli {

// A line, or nothing of a trace that was measured.
std::string extrapolation_text(const profile::TraceInfo& info);
// From which sizes to which, or null.
nlohmann::ordered_json extrapolation_json(const profile::TraceInfo& info);

}  // namespace hearth::cli
