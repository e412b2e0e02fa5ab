// Speed of what a mover does: page moves between nodes, or, on a machine with one node, the copy that an emulated move
// is.
//
// For measuring; starts threads, allocates.
#pragma once

#include <string>

#include "machine/area.h"
#include "machine/figure.h"

namespace hearth::machine {

struct Moves {
  PageSize pages = PageSize::small;
  unsigned threads = 0;
  bool real = false;  // page moves; false = a copy, since there is no other node
  Figure there;       // bytes per second, from the first node to the second
  Figure back;
  std::string problem;
};

// By move_pages, in batches of 2 MiB. Pages that did not arrive are a problem, not a speed.
Moves measure_moves(unsigned from, unsigned to, PageSize pages, unsigned threads, std::size_t bytes, unsigned repeats);

// A copy of pages of one node; `there` and `back` are the same figure.
Moves measure_page_copy(unsigned node, PageSize pages, unsigned threads, std::size_t bytes, unsigned repeats);

// Nanoseconds of the first touch of a 4 KiB page of fresh memory.
Figure measure_first_touch(std::size_t pages, unsigned repeats);

}  // namespace hearth::machine
