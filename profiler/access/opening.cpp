// Opening guarded pages: one, those of a range of a tensor, all.
#include <sys/mman.h>

#include <algorithm>

#include "access/guard_state.h"

namespace hearth::access {

namespace {

// What an opened word becomes; onto the list of those to be armed again when its hold ends, not now.
std::uint64_t opened(std::uint64_t before, Until until) {
  if (until == Until::stopped) return with_state(before, State::dead);
  const std::uint64_t open = with_state(before, State::open);
  return (open & kHoldMask) == kHoldMask ? with_state(open, State::dead) : open + kHold;
}

}  // namespace

long protect(std::uintptr_t page, std::uintptr_t bytes, int protection) {
  return raw(SYS_mprotect, page, bytes, protection);
}

std::uint32_t find_page(std::uint32_t header, std::uintptr_t page) {
  PagePool& pool = g_guard.pool;
  std::uint32_t low = header + 1;
  std::uint32_t high = low + header_pages(pool.at(header).load(std::memory_order_acquire));
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::uintptr_t at = page_of(pool.at(middle).load(std::memory_order_relaxed));
    if (at == page) return middle;
    if (at < page) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 0;
}

void report(TensorSlot slot, std::uintptr_t page, hearth_access access) {
  const registry::Registry* registry = g_guard.registry.load(std::memory_order_acquire);
  const FaultSink sink = g_guard.sink.load(std::memory_order_acquire);
  const std::uintptr_t address = registry->at(slot).address.load(std::memory_order_relaxed);
  sink(slot, static_cast<std::uint32_t>((page - address) / kPageBytes), access);
}

bool open_range(std::uint32_t header, std::uintptr_t low, std::uintptr_t high, Until until, hearth_access access) {
  PagePool& pool = g_guard.pool;
  const std::uint64_t head = pool.at(header).load(std::memory_order_acquire);
  const std::uint32_t end = header + 1 + header_pages(head);
  std::uint32_t first = header + 1;
  while (first < end && page_of(pool.at(first).load(std::memory_order_relaxed)) < low) ++first;
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::uint32_t last = first;
  for (; last < end && page_of(pool.at(last).load(std::memory_order_relaxed)) < high; ++last) {
    const std::uint64_t before = lock(pool.at(last));
    const State state = state_of(before);
    if (state != State::armed && state != State::readable) continue;
    if (to == 0) from = page_of(before);
    to = page_of(before) + kPageBytes;
    const bool seen = state == State::readable && access == HEARTH_ACCESS_READ;
    if (access != HEARTH_ACCESS_UNKNOWN && !seen) report(header_slot(head), page_of(before), access);
  }
  if (to != 0) protect(from, to - from, PROT_READ | PROT_WRITE);
  for (std::uint32_t i = first; i < last; ++i) {
    const std::uint64_t word = pool.at(i).load(std::memory_order_relaxed);
    if (state_of(word) != State::dead) unlock(pool.at(i), opened(word, until));
  }
  return last > first;
}

void open_all() {
  PagePool& pool = g_guard.pool;
  registry::Registry* registry = g_guard.registry.load(std::memory_order_acquire);
  const std::uint32_t limit = pool.limit();
  for (std::uint32_t i = g_guard.run_first; i < limit; ++i) {
    const std::uint64_t word = pool.at(i).load(std::memory_order_acquire);
    if (state_of(word) != State::header) continue;
    // Opened before the tensor loses its header: a fault in between must still find out whose page it is.
    open_range(i, 0, UINTPTR_MAX, Until::stopped, HEARTH_ACCESS_UNKNOWN);
    std::uint32_t mine = i;
    registry->at(header_slot(word)).watch.compare_exchange_strong(mine, 0, std::memory_order_acq_rel);
  }
}

void open_all_in_child() {
  PagePool& pool = g_guard.pool;
  registry::Registry* registry = g_guard.registry.load(std::memory_order_acquire);
  const std::uint32_t limit = pool.limit();
  for (std::uint32_t i = g_guard.run_first; i < limit; ++i) {
    const std::uint64_t word = pool.at(i).load(std::memory_order_relaxed);
    const State state = state_of(word);
    if (state == State::header) registry->at(header_slot(word)).watch.store(0, std::memory_order_relaxed);
    if (state == State::empty || state == State::dead || state == State::header) continue;
    if (state != State::open) protect(page_of(word), kPageBytes, PROT_READ | PROT_WRITE);
    pool.at(i).store(with_state(word, State::dead), std::memory_order_relaxed);
  }
}

}  // namespace hearth::access
