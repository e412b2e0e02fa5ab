// Fill: room that is left when all that saves time has been placed goes to what uses its bytes most, for its whole life
// and without moves. By the model that gains nothing, where ops compute for longer than their memory takes; it costs
// nothing either, and the model may be wrong.
//
// Deterministic; allocates.
#pragma once

#include "policy/placing.h"

namespace hearth::policy {

void fill(Placing& placing);

}  // namespace hearth::policy
