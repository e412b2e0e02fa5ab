#include "access/io_guard.h"

#include <algorithm>

#include "access/guard_state.h"

namespace hearth::access {

namespace {

// Visits the watched tensors in a range: visit(pool header). True if there was one.
template <class Visit>
bool for_each_watched(std::uintptr_t address, std::size_t bytes, Visit visit) {
  const registry::Registry* registry = g_guard.registry.load(std::memory_order_acquire);
  const std::uintptr_t low = std::max(address & ~(kPageBytes - 1), g_guard.low.load(std::memory_order_relaxed));
  const std::uintptr_t last = bytes > UINTPTR_MAX - address ? UINTPTR_MAX : address + bytes;
  const std::uintptr_t high = std::min(last, g_guard.high.load(std::memory_order_relaxed));
  bool any = false;
  for (std::uintptr_t page = low; page < high;) {
    const TensorSlot slot = registry->find(reinterpret_cast<const void*>(page));
    page += kPageBytes;
    if (!slot) continue;
    const registry::Tensor& tensor = registry->at(slot);
    const std::uint32_t header = tensor.watch.load(std::memory_order_acquire);
    if (header == 0) continue;
    any = visit(header) || any;
    const std::uintptr_t end = tensor.address.load(std::memory_order_relaxed) + tensor.bytes;
    page = std::max(page, (end + kPageBytes - 1) & ~(kPageBytes - 1));
  }
  return any;
}

bool open_buffer(std::uintptr_t address, std::size_t bytes, Until until, hearth_access access) {
  return for_each_watched(address, bytes, [&](std::uint32_t header) {
    const SignalsBlocked blocked;
    return open_range(header, address & ~(kPageBytes - 1), address + bytes, until, access);
  });
}

void let_go_word(std::uint32_t index) {
  Word& word = g_guard.pool.at(index);
  const std::uint64_t before = lock(word);
  if (state_of(before) == State::dead) return;
  if (!held(before)) {
    unlock(word, before);
    return;
  }
  const std::uint64_t after = before - kHold;
  const bool list = !held(after) && (after & kListed) == 0;
  unlock(word, list ? after | kListed : after);
  if (list) g_guard.pool.list(index);
}

void let_go(std::uintptr_t address, std::size_t bytes) {
  for_each_watched(address, bytes, [&](std::uint32_t header) {
    const SignalsBlocked blocked;
    const std::uint32_t end = header + 1 + header_pages(g_guard.pool.at(header).load(std::memory_order_acquire));
    for (std::uint32_t i = header + 1; i < end; ++i) {
      const std::uintptr_t page = page_of(g_guard.pool.at(i).load(std::memory_order_relaxed));
      if (page + kPageBytes > address && page < address + bytes) let_go_word(i);
    }
    return true;
  });
}

}  // namespace

void prepare_io(const void* address, std::size_t bytes, hearth_access access) {
  if (!active() || bytes == 0) return;
  if (open_buffer(reinterpret_cast<std::uintptr_t>(address), bytes, Until::stopped, access)) count(g_guard.kernel_io);
}

void IoGuard::hold(const void* buffer, std::size_t bytes, hearth_access access) {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  if (bytes == 0) return;
  const Until until = count_ < kRemembered ? Until::let_go : Until::stopped;
  if (!open_buffer(address, bytes, until, access)) return;
  count(g_guard.kernel_io);
  if (until == Until::let_go) ranges_[count_++] = {address, bytes};
}

void IoGuard::hold(const iovec* parts, std::size_t count, hearth_access access) {
  if (count > kMaxParts) return;  // a negative count too
  for (std::size_t i = 0; i < count; ++i) hold(parts[i].iov_base, parts[i].iov_len, access);
}

IoGuard::~IoGuard() {
  for (std::uint32_t i = 0; i < count_; ++i) let_go(ranges_[i].address, ranges_[i].bytes);
}

}  // namespace hearth::access
