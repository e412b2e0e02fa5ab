// improve: a placement made better bit by bit. Parts that are used at about the same time leave it together and come
// back in another order, into whatever room that gives them; what takes less time than before stays (a large
// neighborhood search: Shaw, CP 1998).
//
// Deterministic; allocates.
#pragma once

#include "policy/placing.h"

namespace hearth::policy {

void improve(Placing& placing, int tries);

}  // namespace hearth::policy
