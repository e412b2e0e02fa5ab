// Deep trace: a deepened string of events as a trace again.
//
// Serial numbers are given out anew, in the order in which tensors are alive or born, and autograd sequence numbers
// likewise. A tensor that was there before and belongs to an added layer is alive beside the one that it is like.
// Faults and samples stay with the event before them. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "profile/trace_file.h"
#include "scale/deepen.h"
#include "scale/gathered.h"
#include "scale/module_names.h"

namespace hearth::scale {

// What a trace of the target depth is made of.
struct DeepParts {
  const profile::Trace& large;
  std::span<const std::uint32_t> places;  // of the compared events of the large trace
  const Deepener& deepener;
  const Deepened& tensors;
  const Deepened* sequences;  // null: sequence numbers stay as they are
  std::span<const double> times;
  const Gathered& gathered;
  ModuleNames& names;
  // How many more there are of tensors that are alive and that no event tells of, by serial number.
  const std::unordered_map<std::uint32_t, std::uint64_t>& idle;
};

std::vector<hearth_event> deep_events(const DeepParts& parts);

}  // namespace hearth::scale
