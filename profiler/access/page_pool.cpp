#include "access/page_pool.h"

#include <algorithm>

#include "platform/os_memory.h"

namespace hearth::access {

bool PagePool::init() {
  if (words_ != nullptr) return true;
  // Zeroed memory is valid memory for atomics of integers: all words empty.
  auto* words = static_cast<Word*>(os::map_zeroed(kCapacity * sizeof(Word)));
  next_ = static_cast<std::atomic<std::uint32_t>*>(os::map_zeroed(kCapacity * sizeof(std::atomic<std::uint32_t>)));
  if (words == nullptr || next_ == nullptr) return false;
  words_ = words;
  return true;
}

std::uint32_t PagePool::begin_run() {
  listed_.store(0, std::memory_order_relaxed);
  if (used_.load(std::memory_order_relaxed) > kCapacity / 2) used_.store(1, std::memory_order_release);
  return used_.load(std::memory_order_relaxed);
}

std::uint32_t PagePool::allocate(TensorSlot slot, std::uint32_t pages) {
  if (pages == 0 || pages > kMaxPages) return 0;
  std::uint32_t first = used_.load(std::memory_order_relaxed);
  do {
    if (kCapacity - first <= pages + 1) return 0;
  } while (!used_.compare_exchange_weak(first, first + pages + 1, std::memory_order_acq_rel));
  // Words of an earlier run are all dead, so a fork or stop() between here and the stores below skips them.
  for (std::uint32_t i = 1; i <= pages; ++i) words_[first + i].store(0, std::memory_order_relaxed);
  words_[first].store(make_header(slot, pages), std::memory_order_release);
  return first;
}

std::uint32_t PagePool::limit() const { return used_.load(std::memory_order_acquire); }

void PagePool::list(std::uint32_t index) {
  std::uint32_t head = listed_.load(std::memory_order_relaxed);
  do {
    next_[index].store(head, std::memory_order_relaxed);
  } while (!listed_.compare_exchange_weak(head, index, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace hearth::access
