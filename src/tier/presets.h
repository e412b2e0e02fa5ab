// Machines with names: hardware that is not at hand, with the published figures that stand for it.
//
// Pure data and look-ups; any thread, no lock, no allocation. Figures that nobody published are derived from data
// sheets by the two rules below and said to be; presets.cpp and docs/machine.md tell which is which.
#pragma once

#include <span>
#include <string_view>

#include "tier/machine.h"

namespace hearth::tier {

struct Preset {
  Machine machine;
  const char* what;       // one line
  const char* published;  // figures with their source
  const char* derived;    // the rest, and how
};

std::span<const Preset> presets();

// Null if there is none of that name.
const Preset* find_preset(std::string_view name);

}  // namespace hearth::tier
