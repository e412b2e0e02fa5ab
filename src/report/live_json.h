// The part of the report that changes until the end. Shared by both forms of the JSON report.
// Async-signal-safe: writes into `json`, nothing else.
#pragma once

#include "report/facts.h"
#include "report/json_writer.h"

namespace hearth::report {

// Members of the report's top-level object, to which `json` must stand.
void write_live(JsonWriter& json, const LiveFacts& live);

// "observe", "profile", ...
const char* state_name(int state);

}  // namespace hearth::report
