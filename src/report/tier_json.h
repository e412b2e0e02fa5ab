// Writes the "tiers" object of a report. Async-signal-safe.
#pragma once

#include "report/json_writer.h"
#include "report/tier_facts.h"

namespace hearth::report {

void write_tiers(JsonWriter& json, const TierFacts& tiers);

}  // namespace hearth::report
