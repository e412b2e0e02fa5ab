// Request: one range of pages that is to be on another tier, and what became of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "tier/pages.h"

namespace hearth::migrate {

struct Request {
  tier::Extent pages;
  tier::Tier to = tier::Tier::fast;
  std::uint32_t priority = 0;     // higher first
  std::uint64_t deadline_ns = 0;  // monotonic; earlier first within a priority; 0 = whenever, after those that have one
  bool clean = false;             // not written since it was fetched: may be dropped where the backend can
  std::atomic<std::uint64_t>* over_ns = nullptr;  // there the moment of its end is written; memory for ever
};

// Names one posted request for as long as anybody asks for it; 0 = none.
struct Ticket {
  std::uint64_t value = 0;
  explicit operator bool() const { return value != 0; }
};

enum class Outcome : std::uint8_t {
  pending,    // queued or moving
  done,       // all pages that had memory are there
  partial,    // some stayed behind; counted by errno
  full,       // no room on the fast tier, and nothing under way that would make some
  cancelled,  // before all of it had moved
};

// Running totals. Bytes are of whole pages.
struct MoveStats {
  struct Direction {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;    // moved
    std::uint64_t busy_ns = 0;  // spent moving them
  };
  Direction to_fast;
  Direction to_slow;
  std::uint64_t dropped_clean_bytes = 0;
  std::uint64_t failed_bytes = 0;
  // By errno: pages pinned or under I/O, target full, forbidden, gone, anything else.
  std::uint64_t busy = 0, no_memory = 0, forbidden = 0, absent_node = 0, other = 0;
  std::uint64_t calls = 0, retries = 0;
  std::uint64_t full = 0, cancelled = 0, refused = 0;  // refused: the queue had no room
  std::uint64_t late = 0;                              // finished after their deadline
  std::uint64_t latest_ns = 0;                         // by so much at most
};

}  // namespace hearth::migrate
