// Latency of memory: reads that depend on each other, and how many of them one core keeps going at once.
//
// For measuring, on the calling thread, which stays on one processor meanwhile; allocates.
#pragma once

#include <string>

#include "machine/figure.h"
#include "platform/os_numa.h"

namespace hearth::machine {

struct Latency {
  Figure dependent_ns;     // of one read in a chain of random ones, over huge pages where there are any
  double outstanding = 0;  // reads in flight at most: latency / time per read with many chains at once
  std::string problem;
};

// `bytes`: many times the cache, or the cache answers.
Latency measure_latency(const os::NodeMask& nodes, std::size_t bytes, unsigned repeats);

}  // namespace hearth::machine
