// EventLog: the events of one profiled iteration, in memory.
// Appending reserves a place with one atomic add, so events of all threads stand in one order. A full log drops and
// counts; a profile made from it is then marked incomplete.
// Thread-safety: append from any thread (also from the fault handler: async-signal-safe); the rest by the thread that
// runs the iterations, while nobody appends.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "hearth/trace.h"

namespace hearth::trace {

class EventLog {
 public:
  constexpr EventLog() = default;
  // Reserves room for so many events and takes the memory of the first kPrefaultBytes of them, so that logging an
  // ordinary iteration does not fault. False if the system refuses; every append is then dropped.
  bool init(std::uint64_t capacity_events);

  void append(const hearth_event& event) {
    std::uint64_t place = next_.fetch_add(1, std::memory_order_relaxed);
    if (place < capacity_) [[likely]] {
      events_[place] = event;
    }
  }

  // Also gives back the memory that a long iteration took beyond the first kPrefaultBytes.
  void clear();
  // Gives all memory back; what was logged is gone, its number stays.
  void discard();
  std::span<const hearth_event> events() const;
  std::uint64_t dropped() const;

 private:
  static constexpr std::size_t kPrefaultBytes = std::size_t{8} << 20;

  hearth_event* events_ = nullptr;
  std::uint64_t capacity_ = 0;
  alignas(64) std::atomic<std::uint64_t> next_{0};  // also counts what did not fit
};

}  // namespace hearth::trace
