// EventLog: the events of one profiled iteration, in memory.
// Appending reserves a slot with one atomic add, so events of all threads stand in one order. A full log drops and
// counts; a profile made from it is then marked incomplete.
// Thread-safety: append from any thread (also from the fault handler: async-signal-safe); the rest by the thread that
// runs the iterations, while nobody appends.
#pragma once

#include <cstdint>
#include <span>

#include "hearth/trace.h"

namespace hearth::trace {

class EventLog {
 public:
  constexpr EventLog() = default;
  bool init(std::uint64_t capacity_events);  // reserves and pre-faults the first `prefault` part, see event_log.cpp
  void append(const hearth_event& event);
  void clear();
  std::span<const hearth_event> events() const;
  std::uint64_t dropped() const;
};

}  // namespace hearth::trace
