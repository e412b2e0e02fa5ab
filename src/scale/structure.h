// Structure: of which layers the deeper of two traces is made, proven on the other one.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "scale/kinds.h"
#include "scale/layers.h"
#include "scale/pattern.h"
#include "scale/repeats.h"

namespace hearth::scale {

// Two traces as strings of events, and what these point to (links.h).
struct Both {
  Compared small, large;
  std::vector<std::uint32_t> small_links, large_links;
};

Both both_of(const profile::Trace& small, const profile::Trace& large, Kinds::Of kinds);

struct Structure {
  Repeats repeats;
  Layers layers;
  std::vector<Pattern> patterns;
  std::vector<std::int64_t>
      after;  // where layers are added, of each group: taken away there, they leave the small trace
};

// `steps` is by how many layers the two differ. Units are as small as can be: one layer, or several where these are not
// alike. An error, in one sentence, where no layers are found or those found do not lead from one trace to the other.
Result<Structure> structure_of(const Both& both, std::uint32_t steps);

}  // namespace hearth::scale
