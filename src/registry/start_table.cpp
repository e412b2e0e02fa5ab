#include "registry/start_table.h"

#include <bit>

#include "platform/os_memory.h"

namespace hearth::registry {

namespace {

constexpr unsigned kSmallBits = 16;
constexpr unsigned kSmallWindow = 8;
constexpr unsigned kLargeWindow = 32;
// Odd, from the fractions of the golden ratio and of sqrt(3): two tables that fill the same windows would not help.
constexpr std::uint64_t kSmallMultiplier = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t kLargeMultiplier = 0xbb67ae8584caa73bu;

}  // namespace

bool StartTable::init(std::uint32_t capacity) {
  // At most half full.
  unsigned large_bits = capacity > 1 ? static_cast<unsigned>(std::bit_width(capacity - 1)) + 1 : 1;
  return small_.init(kSmallBits, kSmallWindow, kSmallMultiplier) &&
         large_.init(large_bits < kSmallBits ? kSmallBits : large_bits, kLargeWindow, kLargeMultiplier);
}

bool StartTable::Table::init(unsigned entry_bits, unsigned window_entries, std::uint64_t hash_multiplier) {
  // The last windows reach past the last line: room for them instead of a wrap in every look-up.
  std::size_t count = (std::size_t{1} << entry_bits) + window_entries;
  entries = static_cast<Entry*>(os::map_zeroed(count * sizeof(Entry)));
  multiplier = hash_multiplier;
  shift = 64 - (entry_bits - static_cast<unsigned>(std::bit_width(kLineEntries - 1)));
  window = window_entries;
  return entries != nullptr;
}

bool StartTable::insert(std::uintptr_t address, std::uint32_t slot) {
  if (small_.insert(address, slot)) [[likely]] {
    return true;
  }
  overflowed_.fetch_add(1, std::memory_order_relaxed);
  if (large_.insert(address, slot)) {
    return true;
  }
  overflowed_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

std::uint32_t StartTable::erase(std::uintptr_t address) {
  std::uint32_t slot = small_.erase(address);
  if (slot != 0 || overflowed_.load(std::memory_order_relaxed) == 0) [[likely]] {
    return slot;
  }
  slot = large_.erase(address);
  if (slot != 0) {
    overflowed_.fetch_sub(1, std::memory_order_relaxed);
  }
  return slot;
}

bool StartTable::Table::insert(std::uintptr_t address, std::uint32_t slot) {
  const std::uint64_t entry = (std::uint64_t{address} << (kSlotBits - kAlignmentBits)) | slot;
  Entry* window_begin = window_of(address);
  for (unsigned i = 0; i < window; ++i) {
    std::uint64_t seen = window_begin[i].load(std::memory_order_relaxed);
    if (seen == 0 && window_begin[i].compare_exchange_strong(seen, entry, std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

std::uint32_t StartTable::Table::erase(std::uintptr_t address) {
  const std::uint64_t prefix = std::uint64_t{address} << (kSlotBits - kAlignmentBits);
  Entry* window_begin = window_of(address);
  for (unsigned i = 0; i < window; ++i) {
    std::uint64_t seen = window_begin[i].load(std::memory_order_relaxed);
    std::uint64_t difference = seen ^ prefix;
    if (difference < (std::uint64_t{1} << kSlotBits) &&
        window_begin[i].compare_exchange_strong(seen, 0, std::memory_order_acq_rel)) {
      return static_cast<std::uint32_t>(difference);
    }
  }
  return 0;
}

}  // namespace hearth::registry
