// What was wrong with the knobs: complete sentences without prefix, for the caller to log once it can.
//
// Filled by load() on the thread that loads; plain data: no lock, no allocation.
#pragma once

#include <cstdint>

#include "base/text.h"

namespace hearth::config {

struct Problem {
  char text[256] = {};
};

struct Problems {
  static constexpr std::uint32_t kCapacity = 16;
  Problem list[kCapacity] = {};
  std::uint32_t count = 0;
  std::uint32_t dropped = 0;  // more than fitted

  // The text of the next problem; when full, a place that nobody reads.
  text::Writer add() {
    Problem* place = &overflow;
    if (count < kCapacity) {
      place = &list[count++];
    } else {
      ++dropped;
    }
    return {place->text, sizeof place->text};
  }

 private:
  Problem overflow = {};
};

}  // namespace hearth::config
