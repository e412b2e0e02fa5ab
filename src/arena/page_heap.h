// PageHeap: tensors alone on their pages, from one reserved range of address space.
//
// Used before there is a plan (observing, profiling) and, later, inside every class arena for what the plan does not
// cover. Segregated by size (8 classes per doubling, in pages) with two lock-free LIFOs per class, one of resident
// blocks and one of blocks whose pages the kernel has; links and block sizes live in side tables, never in the blocks,
// so that a freed or protected page is never touched.
//
// Free blocks stay resident up to a limit, beyond it their pages are returned with MADV_DONTNEED. The limit is the
// largest of 64 MiB, a quarter of the live bytes, and what was live at once during the last `hold`, and an eighth of
// that, besides what is live now. The last one is for training loops, which free most of their memory once per
// iteration: without it every iteration would fault its activations in again. The eighth is for free blocks of sizes
// that are not live at the peak: without it they go and come back in every iteration, twenty times the cost of the
// step's own work. While the heap is only the way to a plan (Keep::peak), 4 MiB replace the first two, and the eighth
// is not given: the peak of the few iterations before the plan would else be the process's peak for ever. While tensors
// move from the heap to their planned places (Keep::nothing), 4 MiB is all.
//
// Thread-safety: init before everything else; then allocate/free from any thread, no lock, no malloc, no exception; a
// free may come from another thread than the allocation. fork: nothing is locked, the child may go on allocating and
// freeing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/block_stack.h"
#include "arena/size_classes.h"
#include "tier/pages.h"

namespace hearth::arena {

struct HeapStats {
  std::uint64_t reserved_bytes = 0;   // address space
  std::uint64_t committed_bytes = 0;  // made usable so far, high-water mark of the bump pointer
  std::uint64_t live_bytes = 0;       // in blocks that are in use, page-rounded
  std::uint64_t cached_bytes = 0;     // free and presumed resident
  std::uint64_t returned_bytes = 0;   // given back to the kernel so far (running total)
  std::uint64_t refused = 0;          // allocations not served (range exhausted)
  std::uint64_t bad_frees = 0;        // frees ignored: not a block in use (freed twice, interior pointer)
};

enum class Keep : std::uint8_t { plenty, peak, nothing };

class PageHeap {
 public:
  static constexpr std::uint64_t kHoldNs = 30'000'000'000;

  constexpr PageHeap() = default;

  // Reserves up to `bytes`, halved until the system agrees; under RLIMIT_AS at most half of what is left, so that the
  // program keeps the rest. False if not even 64 MiB. `hold_ns` 0: the limit looks at present live bytes only.
  bool init(std::size_t bytes, std::uint64_t hold_ns = kHoldNs);

  // The address space is about to be limited to so many bytes: what was never used goes back, but for half of what the
  // limit leaves.
  void fit_into(std::size_t address_space);

  // The books of which page lies on which tier, where there are two: told of every page given back. Once, before use.
  void keep_books(tier::Pages& books) { books_ = &books; }

  // Page-aligned block of at least `bytes` > 0, contents undefined; null when exhausted.
  void* allocate(std::size_t bytes);
  // `pointer` was returned by allocate and not freed since.
  void free(void* pointer);

  bool owns(const void* pointer) const {  // one compare
    return reinterpret_cast<std::uintptr_t>(pointer) - base_ < reserved();
  }
  std::size_t block_bytes(const void* pointer) const;  // page-rounded size of the block starting at pointer
  const void* begin() const { return reinterpret_cast<const void*>(base_); }
  std::size_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  const void* end() const;  // of the committed part; grows
  HeapStats stats() const;

  // Asks for huge pages for a block, as PyTorch does for large tensors under THP_MEM_ALLOC_ENABLE. A hint.
  void advise_huge(void* pointer, std::size_t bytes);
  // Any thread, any time.
  void keep(Keep what) { keep_.store(what, std::memory_order_relaxed); }
  // Returns the pages of all free blocks to the kernel, and forgets the recent peak: what was needed up to now will not
  // be needed again. The bytes returned.
  std::uint64_t trim();

 private:
  struct alignas(64) SizeClass {
    BlockStack resident;
    BlockStack returned;              // or never used
    std::atomic<bool> wanted{false};  // allocated from since balance() last came by
  };

  bool used(const void* pointer) const {  // in pages that were handed out once, of which the table tells
    return (reinterpret_cast<std::uintptr_t>(pointer) - base_) >> page_shift_ <
           frontier_.load(std::memory_order_relaxed);
  }
  std::uint32_t page_of(const void* pointer) const;
  void* address_of(std::uint32_t page) const;
  void* hand_out(std::uint32_t page);
  void* allocate_slow(unsigned size_class, std::uint32_t pages);
  std::uint32_t take_resident(unsigned size_class);
  std::uint32_t take_returned(unsigned size_class);
  std::uint32_t take_fresh(std::uint32_t pages);
  std::uint32_t claim(std::uint32_t pages);
  bool commit_entries(std::uint32_t page, std::uint32_t pages);
  std::uint32_t split(std::uint32_t pages);
  void put_returned(std::uint32_t page, std::uint32_t pages);
  bool give_back(std::uint32_t page, unsigned size_class);
  void balance();
  std::uint64_t cached_pages(std::uint64_t live) const;
  bool over_floor(std::uint64_t cached, std::uint64_t live) const;
  bool over_limit();
  std::uint64_t recent_peak(std::uint64_t live);
  void raise_peak(std::uint64_t live);

  std::uintptr_t base_ = 0;
  std::atomic<std::size_t> reserved_{0};
  Block* blocks_ = nullptr;  // by page, up to the frontier
  tier::Pages* books_ = nullptr;
  std::atomic<std::uint32_t> total_pages_{0};
  std::uint32_t chunk_pages_ = 0;         // what is committed at once
  std::uint64_t floor_pages_ = 0;         // always kept
  std::uint64_t frugal_floor_pages_ = 0;  // unless Keep::plenty: this
  std::uint64_t hold_ns_ = 0;
  unsigned page_shift_ = 0;

  // Seldom written: read by every free, so apart from live_pages_.
  alignas(64) std::atomic<std::uint64_t> frontier_{0};  // pages ever committed
  std::atomic<Keep> keep_{Keep::plenty};
  std::atomic<std::uint64_t> returned_pages_{0};  // committed, free and not resident
  std::atomic<std::uint64_t> chunk_{0};           // end << 32 | next: what is left of the committed chunk
  std::atomic<std::uint64_t> peak_{0};            // of live pages, in the present window of hold_ns_
  std::atomic<std::uint64_t> former_peak_{0};     // and in the one before
  std::atomic<std::uint64_t> window_start_ns_{0};
  std::atomic<unsigned> hand_{0};  // where balance() goes on
  std::atomic<std::uint64_t> total_returned_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> bad_frees_{0};
  alignas(64) std::atomic<std::uint64_t> live_pages_{0};
  SizeClass classes_[size_class::kCount];
};

}  // namespace hearth::arena
