// The "account" of the tiers' part of a report: why tensors lie where they do, the fast tier over time, and the plan's
// moves as they went. Async-signal-safe: reads plain values.
#pragma once

#include "plan/residency.h"
#include "report/json_writer.h"
#include "report/tier_facts.h"

namespace hearth::report {

// `moves`: of each of the residency's; null if nothing is known of them.
void write_account(JsonWriter& json, const plan::Residency& residency, const Punctuality* moves);

}  // namespace hearth::report
