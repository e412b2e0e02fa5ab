#include "tier/emulated_backend.h"

#include <algorithm>
#include <cstring>

#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"

// Absent, but in tests that preload a library which has it: an errno value where a move is to fail, as moves between
// nodes do now and then and copies never; or 0.
extern "C" [[gnu::weak, gnu::visibility("default")]] int hearth_test_move_error();

namespace hearth::tier {
namespace {

constexpr std::uint32_t kMovers = 8;                        // that copy at once without sharing a buffer
constexpr std::uint64_t kChunk = std::uint64_t{256} << 10;  // copied at once, then the pace is looked at

// The program writes the pages meanwhile; what is read of them is thrown away.
[[gnu::no_sanitize("thread", "address")]] void copy(std::byte* to, const void* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
}

}  // namespace

EmulatedBackend::Slot EmulatedBackend::Lane::reserve(std::uint64_t ns) {
  const std::uint64_t slept = slept_ns.exchange(0, std::memory_order_relaxed);
  const std::uint64_t now = os::monotonic_ns();
  std::uint64_t free = free_ns.load(std::memory_order_relaxed);
  std::uint64_t begin = 0;
  do {
    begin = std::max(free, now - slept);
  } while (!free_ns.compare_exchange_weak(free, begin + ns, std::memory_order_relaxed));
  taken_ns.fetch_add(ns, std::memory_order_relaxed);
  return {begin, begin + ns, now - std::min(begin, now)};
}

// The slots that are not over lie one after the other.
std::uint64_t EmulatedBackend::Lane::busy_ns(std::uint64_t now_ns) const {
  const std::uint64_t free = free_ns.load(std::memory_order_relaxed);
  const std::uint64_t taken = taken_ns.load(std::memory_order_relaxed);
  return taken - std::min(taken, free - std::min(free, now_ns));
}

bool EmulatedBackend::Lane::spend(const Slot& slot) {
  const std::uint64_t now = os::monotonic_ns();
  if (now < slot.due_ns) os::sleep_until(slot.due_ns);
  const std::uint64_t over = os::monotonic_ns() - slot.due_ns;
  const std::uint64_t slept = now < slot.due_ns ? over : std::min(over, slot.made_up_ns);
  if (free_ns.load(std::memory_order_relaxed) == slot.due_ns) slept_ns.store(slept, std::memory_order_relaxed);
  return now <= slot.due_ns + slot.made_up_ns;
}

bool EmulatedBackend::init(const Machine& machine) {
  to_fast_.pace = machine.move_to_fast / 1e9;
  to_slow_.pace = machine.move_to_slow / 1e9;
  scratch_ = static_cast<std::byte*>(os::map_zeroed(kMovers * kChunk));
  return scratch_ != nullptr && to_fast_.pace > 0 && to_slow_.pace > 0;
}

int EmulatedBackend::bind(Extent, Tier) { return 0; }

std::byte* EmulatedBackend::scratch() {
  return scratch_ + movers_.fetch_add(1, std::memory_order_relaxed) % kMovers * kChunk;
}

// Copies each chunk, and waits for the rest of the time that it takes on the machine.
Moved EmulatedBackend::move(Extent pages, Tier to) {
  if (hearth_test_move_error != nullptr) {
    Moved stayed;
    stayed.error = hearth_test_move_error();
    stayed.failed = pages.bytes;
    if (stayed.error != 0) return stayed;
  }
  Lane& way = lane(to);
  std::byte* const buffer = scratch();
  for (std::uint64_t done = 0; done < pages.bytes;) {
    const std::uint64_t chunk = std::min(kChunk, pages.bytes - done);
    const Slot slot = way.reserve(static_cast<std::uint64_t>(static_cast<double>(chunk) / way.pace));
    copy(buffer, reinterpret_cast<const void*>(pages.begin() + done), chunk);
    done += chunk;
    if (!way.spend(slot)) late_.fetch_add(chunk, std::memory_order_relaxed);
  }
  Moved moved;
  moved.there = pages.bytes;
  return moved;
}

// Nothing can be lost: the page is the same on either tier.
bool EmulatedBackend::drop_clean(Extent) { return true; }

bool EmulatedBackend::forget(Extent) { return true; }

int EmulatedBackend::locate(const void*, std::size_t count, Tier* tiers) {
  std::fill_n(tiers, count, Tier::fast);
  return 0;
}

}  // namespace hearth::tier
