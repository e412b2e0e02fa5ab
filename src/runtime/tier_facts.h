// What the tiers come to, for the report. Async-signal-safe: fills a plain value.
#pragma once

#include "report/tier_facts.h"

namespace hearth::runtime {

report::TierFacts tier_facts();

}  // namespace hearth::runtime
