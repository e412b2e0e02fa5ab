// Alike: is a string of events, made of the large trace, what the small trace is?
#pragma once

#include <cstdint>
#include <span>

#include "scale/deepen.h"
#include "scale/repeats.h"

namespace hearth::scale {

struct Strings {
  Sequence small, large;
  std::span<const std::uint32_t> small_links, large_links;
  const Repeats& repeats;
};

// The same events in the same order, pointing to the same ones; what stands alone in either is passed over.
bool alike(const Strings& strings, const Layers& layers, const Deepened& made);

}  // namespace hearth::scale
