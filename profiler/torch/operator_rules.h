// From an operator's schema to the data it touches. See docs/pytorch-versions.md for the rules in prose.
// Called once per operator (cold: it allocates and asks the dispatcher).
#pragma once

#include "operators.h"

namespace hearth::adapter {

OperatorRules derive_rules(const c10::FunctionSchema& schema);

}  // namespace hearth::adapter
