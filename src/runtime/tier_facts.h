// What the tiers come to, for the report. Async-signal-safe: fills a plain value.
#pragma once

#include "report/tier_facts.h"

namespace hearth::runtime {

report::TierFacts tier_facts();

// Asks the kernel for pages of live tensors and of the arena and compares with the books; of very many, some. An
// emulated tier has only its books.
void check_residency();

}  // namespace hearth::runtime
