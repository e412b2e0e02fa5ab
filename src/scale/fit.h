// The line through a figure at two sizes, and where it is at a third one.
#pragma once

#include <algorithm>

namespace hearth::scale {

// Of the program that was traced: its batch, say. 0 < small < large < target.
struct Sizes {
  double small = 0, large = 0, target = 0;
};

// Never below what was measured at the larger size: what shrinks from one to the other is noise, or no line.
inline double at_target(const Sizes& sizes, double small, double large) {
  return large + std::max(0.0, large - small) * (sizes.target - sizes.large) / (sizes.large - sizes.small);
}

// Of what is known at the larger size alone.
inline double in_proportion(const Sizes& sizes, double large) { return large * sizes.target / sizes.large; }

}  // namespace hearth::scale
