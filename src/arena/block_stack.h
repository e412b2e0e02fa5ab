// BlockStack: lock-free LIFO of blocks, linked through a table beside the memory, never through the blocks themselves.
//
// A block is named by the number of its first page. The head carries a tag that changes with every push and pop, so
// that a pop that was overtaken does not take a stale link for a true one (ABA).
// Thread-safety: any thread. fork: the child finds a whole stack at any moment.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth::arena {

// What the heap knows of the block that begins at a page.
struct Block {
  std::atomic<std::uint32_t> pages;
  std::atomic<std::uint32_t> next;  // free: next block's page + 1, 0 = last. In use: kInUse
};

constexpr std::uint32_t kInUse = 0xffffffffu;
constexpr std::uint32_t kNoBlock = 0xffffffffu;

class BlockStack {
 public:
  constexpr BlockStack() = default;

  void push(Block* blocks, std::uint32_t page) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    std::uint64_t replacement = 0;
    do {
      blocks[page].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
      replacement = next_tag(head) | (page + 1);
    } while (!head_.compare_exchange_weak(head, replacement, std::memory_order_release, std::memory_order_relaxed));
  }

  // kNoBlock when empty.
  std::uint32_t pop(const Block* blocks) {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(head) != 0) {
      std::uint32_t page = static_cast<std::uint32_t>(head) - 1;
      std::uint64_t replacement = next_tag(head) | blocks[page].next.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, replacement, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return page;
      }
    }
    return kNoBlock;
  }

 private:
  static std::uint64_t next_tag(std::uint64_t head) { return ((head >> 32) + 1) << 32; }

  std::atomic<std::uint64_t> head_{0};
};

}  // namespace hearth::arena
