// What a mover costs the computation beside it: a loop that is bound by memory, alone and beside a thread that copies.
//
// For measuring; starts threads, allocates.
#pragma once

#include <string>

#include "machine/figure.h"
#include "platform/os_numa.h"

namespace hearth::machine {

struct Interference {
  unsigned threads = 0;  // of the loop; the copying thread comes on top
  Figure part;    // of the time of the copy by which the loop becomes longer: 0.2 = a second of copying costs 0.2 s
  Figure copied;  // bytes per second that the copy reached meanwhile
  std::string problem;
};

// The loop runs on `nodes`; the copy goes from `from` to `to`.
Interference measure_interference(const os::NodeMask& nodes, const os::NodeMask& from, const os::NodeMask& to,
                                  unsigned threads, std::size_t bytes, unsigned repeats);

}  // namespace hearth::machine
