// Gathered: what is outside of layers and yet larger in the deeper trace, as it is gathered from all layers: the norms
// of all gradients, a buffer of all weights. Its bytes lie on the line through both traces.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "profile/trace_file.h"
#include "scale/fit.h"

namespace hearth::scale {

struct Gathered {
  std::unordered_map<std::uint32_t, std::uint64_t> events;   // bytes at the target, by compared event
  std::unordered_map<std::uint32_t, std::uint64_t> tensors;  // likewise of what was there before, by serial number
};

// `partners`: of each compared event of the large trace the small one's, or kAlone (align.h).
Gathered gathered_of(const profile::Trace& small, std::span<const std::uint32_t> small_places,
                     const profile::Trace& large, std::span<const std::uint32_t> large_places,
                     std::span<const std::uint32_t> partners, const Sizes& depths);

}  // namespace hearth::scale
