// Lives: whether the tensors of a trace live as tensors can: born once, used while they live, freed once.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <span>

#include "hearth/trace.h"

namespace hearth::scale {

struct Lives {
  std::uint64_t wrong = 0;    // births of what lives, ends of what does not, uses before or after a life
  std::uint64_t tensors = 0;  // alive or born
  std::int64_t left = 0;      // bytes alive at the end, less those at the begin
};

Lives lives_of(std::span<const hearth_event> events);

}  // namespace hearth::scale
