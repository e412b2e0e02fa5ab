#include "tier/emulated_backend.h"

#include <algorithm>
#include <cstring>

#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"

namespace hearth::tier {
namespace {

constexpr std::uint32_t kLanes = 8;                         // movers that copy at once without sharing a buffer
constexpr std::uint64_t kChunk = std::uint64_t{256} << 10;  // copied at once, then the pace is looked at
constexpr std::uint64_t kWorthSleeping = 60'000;            // ns; the kernel wakes that late anyway

// The program writes the pages meanwhile; what is read of them is thrown away.
[[gnu::no_sanitize("thread", "address")]] void copy(std::byte* to, const void* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
}

void wait_until(std::uint64_t due_ns) {
  const std::uint64_t now = os::monotonic_ns();
  if (now + kWorthSleeping < due_ns) os::sleep_until(due_ns - kWorthSleeping / 2);
  while (os::monotonic_ns() < due_ns) {
  }
}

}  // namespace

bool EmulatedBackend::init(const Machine& machine) {
  to_fast_ = machine.move_to_fast / 1e9;
  to_slow_ = machine.move_to_slow / 1e9;
  scratch_ = static_cast<std::byte*>(os::map_zeroed(kLanes * kChunk));
  return scratch_ != nullptr && to_fast_ > 0 && to_slow_ > 0;
}

int EmulatedBackend::bind(Extent, Tier) { return 0; }

Moved EmulatedBackend::move(Extent pages, Tier to) {
  const double pace = to == Tier::fast ? to_fast_ : to_slow_;
  std::byte* scratch = scratch_ + lanes_.fetch_add(1, std::memory_order_relaxed) % kLanes * kChunk;
  const std::uint64_t begin_ns = os::monotonic_ns();
  for (std::uint64_t done = 0; done < pages.bytes;) {
    const std::uint64_t chunk = std::min(kChunk, pages.bytes - done);
    copy(scratch, reinterpret_cast<const void*>(pages.begin() + done), chunk);
    done += chunk;
    const std::uint64_t due = begin_ns + static_cast<std::uint64_t>(static_cast<double>(done) / pace);
    if (os::monotonic_ns() > due) {
      late_.fetch_add(chunk, std::memory_order_relaxed);
    } else {
      wait_until(due);
    }
  }
  Moved moved;
  moved.there = pages.bytes;
  return moved;
}

bool EmulatedBackend::drop_clean(Extent) { return true; }

// As on nodes: a copy like any other.
Moved EmulatedBackend::move_dead(Extent pages, Tier to) { return move(pages, to); }

int EmulatedBackend::locate(const void*, std::size_t count, Tier* tiers) {
  std::fill_n(tiers, count, Tier::fast);
  return 0;
}

}  // namespace hearth::tier
