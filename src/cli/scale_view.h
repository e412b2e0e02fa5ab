// What `hearth scale` tells of the trace that it made, as a table or as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "scale/depth.h"
#include "scale/scale.h"

namespace hearth::cli {

struct Peaks {
  std::uint64_t small = 0, large = 0, target = 0;
};

std::string scale_text(const scale::Sizes& sizes, const scale::Facts& facts, const Peaks& peaks, bool json);
std::string scale_text(const scale::Sizes& depths, const scale::DepthFacts& facts, const Peaks& peaks, bool json);

}  // namespace hearth::cli
