// Pages: the books. Which page of Hearth's own ranges lies on which tier, and how much of fast memory that makes.
//
// One byte per page of a registered range, touched lazily. The books say what has been decided and done; what the
// kernel made of it is asked for apart (Backend::locate). Nothing becomes fast without a claim, so the bytes on the
// fast tier never exceed its capacity at any moment: `fast_peak` is the proof.
//
// A page has one owner who may give it memory or take it away (whoever has the block or the arena) and the movers, who
// change its tier at the same time; every change is one compare-and-swap, and what the other side undid is not counted.
//
// Units: addresses and sizes are cut to the whole pages that they touch. Pages are 4 KiB whatever the kernel's are.
// Thread-safety: add_range from one thread at a time; all else any thread, no lock, no malloc, no system call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/tier.h"

namespace hearth::tier {

struct Extent {
  const void* address = nullptr;
  std::uint64_t bytes = 0;

  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(address); }
  std::uintptr_t end() const { return begin() + bytes; }
  void* mutable_address() const { return const_cast<void*>(address); }
};

inline Extent extent(std::uintptr_t begin, std::uintptr_t end) {
  return {reinterpret_cast<const void*>(begin), end - begin};
}

constexpr std::uint64_t kPageBytes = 4096;

// All pages that the extent touches; and those that are altogether its own.
inline Extent whole_pages(Extent pages) {
  const std::uintptr_t begin = pages.begin() / kPageBytes * kPageBytes;
  return pages.bytes == 0 ? pages : extent(begin, (pages.end() + kPageBytes - 1) / kPageBytes * kPageBytes);
}
inline Extent pages_within(Extent pages) {
  const std::uintptr_t begin = (pages.begin() + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::uintptr_t end = pages.end() / kPageBytes * kPageBytes;
  return extent(begin, end > begin ? end : begin);
}

class Pages {
 public:
  static constexpr std::uint64_t kPage = kPageBytes;
  static constexpr std::uint32_t kRanges = 12;
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  constexpr Pages() = default;

  // False if there is no address space for the books or kRanges are registered. Never taken back.
  bool add_range(const void* base, std::uint64_t bytes);
  bool owns(const void* address) const { return range_of(reinterpret_cast<std::uintptr_t>(address)) != nullptr; }

  // May fall below what is fast already: nothing more becomes fast then until enough has left.
  void set_capacity(std::uint64_t bytes) { capacity_.store(bytes, std::memory_order_relaxed); }
  std::uint64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  std::uint64_t fast_bytes() const { return claimed_.load(std::memory_order_relaxed); }
  std::uint64_t slow_bytes() const { return slow_.load(std::memory_order_relaxed); }
  // The most that was fast at once since restart_peak(), moves under way included.
  std::uint64_t fast_peak() const { return peak_.load(std::memory_order_relaxed); }
  void restart_peak() { peak_.store(fast_bytes(), std::memory_order_relaxed); }

  // Bytes on the fast tier, moves under way included: the mean over the time since restart_average().
  std::uint64_t fast_average() const;
  void restart_average();

  // Room on the fast tier, all or nothing.
  bool claim(std::uint64_t bytes);
  // As much of `bytes`, whole pages, as there is room for. What was claimed.
  std::uint64_t claim_some(std::uint64_t bytes);
  void unclaim(std::uint64_t bytes) {
    claimed_.fetch_sub(bytes, std::memory_order_relaxed);
    weigh(0 - bytes / kPage);
  }

  // Pages that lie on none become fast (claimed beforehand by the caller) or slow; others stay. Bytes that changed.
  std::uint64_t settle(Extent pages, Tier tier);
  // Pages that lie on other(to) become `to`. Into fast: claimed beforehand. Bytes that changed; what leaves fast is
  // unclaimed here.
  std::uint64_t change(Extent pages, Tier to);
  // Pages have been given back to the kernel, or nothing lives on them any more.
  void vacate(Extent pages);
  // Pages that are one tensor's own until they are vacated.
  void set_own(Extent pages);
  bool own(const void* address) const;

  Residency of(Extent pages) const;
  Tier at(const void* address) const;
  // The tier, kept beside it, from which the page's memory is to come when it is touched (Backend::bind).
  Tier bound(const void* address) const;
  // Is all of it bound to `tier`? Pages that were never bound apart are bound to `usual`, as their range is.
  bool bound_to(Extent pages, Tier tier, Tier usual) const;
  void set_bound(Extent pages, Tier tier);

  // The first run of pages on `tier` within `pages`; an extent of 0 bytes if there is none.
  Extent next_run(Extent pages, Tier tier) const;

 private:
  struct Range {
    std::uintptr_t base = 0;
    std::uintptr_t end = 0;
    std::atomic<std::uint8_t>* state = nullptr;  // tier | bound tier << 2 | own << 4
  };

  void weigh(std::uint64_t pages);
  std::uint64_t page_ticks(std::uint64_t now) const;
  const Range* range_of(std::uintptr_t address) const;
  template <class Each>
  void each_page(Extent pages, const Each& each) const;

  Range ranges_[kRanges];
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> capacity_{kUnlimited};
  alignas(64) std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> peak_{0};
  std::atomic<std::uint64_t> slow_{0};
  // The integral of `claimed` over time, up to now, is claimed x now - weighted: a sum of changes x when they came,
  // which any thread may add to at any time.
  std::atomic<std::uint64_t> weighted_{0};  // pages x ticks, as all of this modulo 2^64
  std::uint64_t average_from_ = 0;          // tick
  std::uint64_t average_base_ = 0;          // page_ticks() then
};

}  // namespace hearth::tier
