// Depth times: how long before each event of a deepened trace the one before it was.
//
// What layers are made of takes the mean of all units of its phase where it is added. Of an op, or an optimizer's step,
// that layers are inside of, what passes outside them lies on the line through both traces: it grows with the layers,
// as time to gather a list of tensors does. All else takes what it took in the deeper trace. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scale/deepen.h"
#include "scale/fit.h"
#include "scale/kinds.h"
#include "scale/walk.h"

namespace hearth::scale {

// A trace, walk() of it, and which of its events are compared.
struct Timed {
  const profile::Trace& trace;
  std::span<const Step> steps;
  std::span<const std::uint32_t> places;
};

// `partners`: of each compared event of the large trace the small one's, or kAlone.
std::vector<double> depth_times(const Timed& small, const Timed& large, std::span<const std::uint32_t> partners,
                                const Layers& layers, const Deepened& deepened, const Sizes& sizes);

}  // namespace hearth::scale
