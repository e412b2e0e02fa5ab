// PageTree: radix tree over 4 KiB pages of the 48-bit address space, from a page to the slot of the tensor that covers
// the page's first byte.
//
// Three levels of 14 + 13 + 9 bits: a leaf stands for 2 MiB. A tensor that covers all of a leaf's pages is written
// once, beside the pointer to the leaf (as a page table does with a huge page), so a 1 GiB tensor costs 512 entries and
// no leaf. Nodes are created by compare-and-swap and never freed; a loser's node is lost (its pages are untouched).
//
// Forgetting a tensor leaves its entries in leaves as they are, which halves the cost of a tensor's life: an answer is
// a candidate, which the caller verifies against the tensor's record.
//
// Called by Registry only. Thread-safety: any thread; two live tensors never share a page's first byte, so assign()
// never races on an entry. No lock, no malloc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hearth::registry {

class PageTree {
 public:
  static constexpr unsigned kPageBits = 12;
  static constexpr unsigned kAddressBits = 48;

  constexpr PageTree() = default;
  bool init();

  // Makes the nodes that pages [first, end) need. False when the system gives no memory; nothing is assigned then.
  bool prepare(std::uintptr_t first, std::uintptr_t end);
  // Writes `slot` for pages [first, end), which prepare() has seen.
  void assign(std::uintptr_t first, std::uintptr_t end, std::uint32_t slot);
  // The tensor of pages [first, end) is gone.
  void forget(std::uintptr_t first, std::uintptr_t end);

  // The slot of the tensor that covers the page's first byte, if one does; else 0 or any slot that was ever assigned.
  std::uint32_t find(std::uintptr_t page) const {
    const Middle* middle = root_[page >> kMiddleShift].load(std::memory_order_acquire);
    if (middle == nullptr) {
      return 0;
    }
    const Region& region = middle->regions[(page >> kLeafBits) & kMiddleMask];
    std::uint32_t slot = region.whole.load(std::memory_order_acquire);
    if (slot != 0) {
      return slot;
    }
    const Leaf* leaf = region.leaf.load(std::memory_order_acquire);
    return leaf != nullptr ? leaf->slots[page & kLeafMask].load(std::memory_order_acquire) : 0;
  }

 private:
  static constexpr unsigned kLeafBits = 9;
  static constexpr unsigned kMiddleBits = 13;
  static constexpr unsigned kMiddleShift = kLeafBits + kMiddleBits;
  static constexpr unsigned kRootBits = kAddressBits - kPageBits - kMiddleShift;
  static constexpr std::uintptr_t kLeafPages = std::uintptr_t{1} << kLeafBits;
  static constexpr std::uintptr_t kLeafMask = kLeafPages - 1;
  static constexpr std::uintptr_t kMiddleMask = (std::uintptr_t{1} << kMiddleBits) - 1;

  struct Leaf {
    std::atomic<std::uint32_t> slots[kLeafPages];
  };
  struct Region {
    std::atomic<Leaf*> leaf;
    std::atomic<std::uint32_t> whole;  // the tensor that covers every page of the leaf
  };
  struct Middle {
    Region regions[kMiddleMask + 1];
  };

  Region& region_of(std::uintptr_t page) const {
    return root_[page >> kMiddleShift].load(std::memory_order_acquire)->regions[(page >> kLeafBits) & kMiddleMask];
  }
  // The last page + 1 of the leaf that `page` is in, but at most `end`.
  static std::uintptr_t part_end(std::uintptr_t page, std::uintptr_t end) {
    std::uintptr_t leaf_end = (page | kLeafMask) + 1;
    return leaf_end < end ? leaf_end : end;
  }

  std::atomic<Middle*>* root_ = nullptr;
};

}  // namespace hearth::registry
