// PageHeap: tensors alone on their pages, from one reserved range of address space.
//
// Used before there is a plan (observing, profiling) and, later, inside every class arena for what the plan does not
// cover. Segregated by size (8 classes per doubling, in pages) with one lock-free LIFO per class; links and block sizes
// live in side tables, never in the blocks, so that a freed or protected page is never touched. Freed blocks stay
// resident up to a limit, beyond it their pages are returned with MADV_DONTNEED, so RSS follows the live bytes.
//
// Thread-safety: allocate/free from any thread, no lock, no malloc, no exception; a free may come from another thread
// than the allocation. fork: nothing is locked, the child may go on freeing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::arena {

struct HeapStats {
  std::uint64_t reserved_bytes = 0;   // address space
  std::uint64_t committed_bytes = 0;  // ever handed out, high-water mark of the bump pointer
  std::uint64_t live_bytes = 0;       // in blocks that are in use, page-rounded
  std::uint64_t cached_bytes = 0;     // free and presumed resident
  std::uint64_t returned_bytes = 0;   // given back to the kernel so far (running total)
  std::uint64_t refused = 0;          // allocations not served (range exhausted)
};

class PageHeap {
 public:
  constexpr PageHeap() = default;

  // Reserves up to `bytes` (halved until the system agrees, e.g. under RLIMIT_AS); false if not even 64 MiB.
  bool init(std::size_t bytes);

  // Page-aligned block of at least `bytes` > 0, contents undefined; null when exhausted.
  void* allocate(std::size_t bytes);
  // `pointer` was returned by allocate and not freed since.
  void free(void* pointer);

  bool owns(const void* pointer) const;               // one compare
  std::size_t block_bytes(const void* pointer) const;  // page-rounded size of the block starting at pointer
  const void* begin() const;
  const void* end() const;  // of the committed part; grows
  HeapStats stats() const;
};

}  // namespace hearth::arena
