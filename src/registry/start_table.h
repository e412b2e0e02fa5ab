// StartTable: hash from a tensor's first byte to its slot.
//
// An entry is one 64-bit word, (address / 64) << 21 | slot, so that a look-up never leaves the table. An address may
// stand in any of the entries of its window, and nowhere else: erasing clears the entry, and no tombstones build up.
// Two tables: 512 KiB with a window of one cache line, which is all that a usual model touches, and a large one for
// what finds its window full.
//
// Called by Registry only. Thread-safety: any thread; insert and erase of one address never overlap. No lock, no
// malloc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hearth::registry {

class StartTable {
 public:
  static constexpr unsigned kSlotBits = 21;
  static constexpr unsigned kAlignmentBits = 6;  // tensor storage is 64-byte aligned

  constexpr StartTable() = default;
  bool init(std::uint32_t capacity);

  // `address` is 64-byte aligned and below 2^48, 0 < slot < 2^21. False when both windows are full.
  bool insert(std::uintptr_t address, std::uint32_t slot);
  // The slot, or 0.
  std::uint32_t find(std::uintptr_t address) const {
    std::uint32_t slot = small_.find(address);
    if (slot != 0 || overflowed_.load(std::memory_order_relaxed) == 0) [[likely]] {
      return slot;
    }
    return large_.find(address);
  }
  // Takes the entry out; its slot, or 0. Of two racing erases of one address one gets the slot.
  std::uint32_t erase(std::uintptr_t address);

 private:
  using Entry = std::atomic<std::uint64_t>;
  static constexpr unsigned kLineEntries = 8;  // of 8 bytes: one cache line

  struct Table {
    Entry* entries = nullptr;
    std::uint64_t multiplier = 0;
    unsigned shift = 0;   // of the product: leaves the number of a line
    unsigned window = 0;  // entries

    Entry* window_of(std::uintptr_t address) const {
      return entries + (((address >> kAlignmentBits) * multiplier) >> shift) * kLineEntries;
    }
    std::uint32_t find(std::uintptr_t address) const {
      const std::uint64_t prefix = std::uint64_t{address} << (kSlotBits - kAlignmentBits);
      const Entry* window_begin = window_of(address);
      for (unsigned i = 0; i < window; ++i) {
        std::uint64_t difference = window_begin[i].load(std::memory_order_acquire) ^ prefix;
        if (difference < (std::uint64_t{1} << kSlotBits)) {
          return static_cast<std::uint32_t>(difference);
        }
      }
      return 0;
    }
    bool init(unsigned entry_bits, unsigned window_entries, std::uint64_t hash_multiplier);
    bool insert(std::uintptr_t address, std::uint32_t slot);
    std::uint32_t erase(std::uintptr_t address);
  };

  Table small_;
  Table large_;
  std::atomic<std::uint32_t> overflowed_{0};  // entries in large_; counted before they can be found
};

}  // namespace hearth::registry
