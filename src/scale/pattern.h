// Pattern: of each group of layers the one that others are made after, and what its events point to.
//
// A pointer follows a rule if that of a neighbor layer is the same: so many layers on, or at one and the same event
// for all. A layer whose pointers all do is like the ones beside it and can be repeated. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "scale/layers.h"

namespace hearth::scale {

struct Rule {
  enum class To { kNothing, kEvent, kLayer } to = To::kNothing;
  Spot target;              // kLayer: its layer is relative
  std::uint32_t event = 0;  // kEvent
};

struct Pattern {
  std::int64_t layer = 0;
  std::int64_t first = 0, last = 0;  // layers that every phase of the group has
};

// An error, in one sentence, where no layer of a group is like its neighbors.
Result<std::vector<Pattern>> find_patterns(const Layers& layers, std::span<const std::uint32_t> links);

// What the event of this place points to, in the pattern's layer.
Rule rule_of(const Layers& layers, std::span<const std::uint32_t> links, const Pattern& pattern, std::uint32_t phase,
             std::uint32_t place);

}  // namespace hearth::scale
