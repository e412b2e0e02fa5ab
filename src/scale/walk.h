// walk: each event of a trace, with the op that it belongs to and the time that has passed before it.
//
// Time is the main thread's: it belongs to the innermost op that is open there, also where another thread's event cuts
// it in pieces. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/trace_file.h"

namespace hearth::scale {

constexpr std::uint32_t kNoOp = 0xffffffffu;

struct Step {
  std::uint64_t ns = 0;           // since the event before; none before the iteration begins
  std::uint32_t main_op = kNoOp;  // innermost one of the main thread while they passed
  std::uint32_t op = kNoOp;       // innermost one of the event's own thread: of an end the one that ends
  std::uint32_t parent = kNoOp;   // of a begin, whose op is the one that begins
};

// One for each event. Ops are numbered in the order of their begin, as in a profile.
std::vector<Step> walk(const profile::Trace& trace);

double total_ns(std::span<const Step> steps);

}  // namespace hearth::scale
