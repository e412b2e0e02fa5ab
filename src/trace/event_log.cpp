#include "trace/event_log.h"

#include "platform/os_memory.h"

namespace hearth::trace {

bool EventLog::init(std::uint64_t capacity_events) {
  if (events_ != nullptr) {
    return true;
  }
  if (capacity_events == 0 || capacity_events > SIZE_MAX / sizeof(hearth_event)) {
    return false;
  }
  std::size_t bytes = capacity_events * sizeof(hearth_event);
  void* memory = os::map_zeroed(bytes < os::page_size() ? os::page_size() : bytes);
  if (memory == nullptr) {
    return false;
  }
  os::prefault(memory, bytes < kPrefaultBytes ? bytes : kPrefaultBytes);
  events_ = static_cast<hearth_event*>(memory);
  capacity_ = capacity_events;
  return true;
}

void EventLog::clear() {
  std::size_t page = os::page_size();
  std::size_t used = (events().size_bytes() + page - 1) & ~(page - 1);
  if (used > kPrefaultBytes) {
    os::discard(reinterpret_cast<char*>(events_) + kPrefaultBytes, used - kPrefaultBytes);
  }
  next_.store(0, std::memory_order_relaxed);
}

void EventLog::discard() {
  const std::size_t page = os::page_size();
  const std::size_t all = capacity_ * sizeof(hearth_event) / page * page;
  const std::size_t used = (events().size_bytes() + page - 1) / page * page;
  const std::size_t taken = used > kPrefaultBytes ? used : kPrefaultBytes;
  if (events_ != nullptr) os::discard(events_, taken < all ? taken : all);
}

std::span<const hearth_event> EventLog::events() const {
  std::uint64_t next = next_.load(std::memory_order_acquire);
  return {events_, next < capacity_ ? next : capacity_};
}

std::uint64_t EventLog::dropped() const {
  std::uint64_t next = next_.load(std::memory_order_relaxed);
  return next > capacity_ ? next - capacity_ : 0;
}

}  // namespace hearth::trace
