// Kinds: what events are, as numbers, equal for events of several traces that may belong together.
//
// At two sizes that is all but the bytes that they tell; at two depths, where nothing grows, it is these too, and
// numbers in the names of modules are no difference. Pure; allocates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profile/trace_file.h"

namespace hearth::scale {

// Can it have a counterpart? Lists of what is alive, faults and samples have no order of their own.
bool comparable(const hearth_event& event);

bool is_module(const hearth_event& event);  // the begin or end of one

// The comparable events of a trace.
struct Compared {
  std::vector<std::uint64_t> kinds;
  std::vector<std::uint64_t> plain;   // without bytes in any case
  std::vector<std::uint32_t> places;  // in the trace
};

class Kinds {
 public:
  enum class Of { kSizes, kDepths, kDepthsByUse };
  explicit Kinds(Of traces) : traces_(traces) {}

  Compared of(const profile::Trace& trace);

 private:
  std::uint64_t number(const hearth_event& event, const std::string& name);

  Of traces_;
  std::unordered_map<std::string, std::uint64_t> names_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> with_bytes_;
};

}  // namespace hearth::scale
