#include "arena/page_heap.h"

#include "platform/os_clock.h"
#include "platform/os_memory.h"

namespace hearth::arena {

namespace {

constexpr std::size_t kSmallestRange = std::size_t{64} << 20;
constexpr std::size_t kLargestRange = std::size_t{8} << 40;  // page numbers + 1 and kInUse fit 32 bits
constexpr std::size_t kRangeAlignment = std::size_t{2} << 20;
constexpr std::size_t kChunkBytes = std::size_t{32} << 20;
constexpr std::size_t kFloorBytes = std::size_t{64} << 20;
constexpr std::size_t kFrugalFloorBytes = std::size_t{4} << 20;
constexpr std::uint64_t kSlack = 8;  // an eighth of the peak, for blocks of sizes that are not live at the peak
constexpr unsigned kMaxReturns = 8;  // blocks returned by one call, so that no free takes long

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::uint64_t packed_chunk(std::uint32_t next, std::uint32_t end) { return std::uint64_t{end} << 32 | next; }

}  // namespace

bool PageHeap::init(std::size_t bytes, std::uint64_t hold_ns) {
  if (blocks_ != nullptr) {
    return true;
  }
  std::size_t page = os::page_size();
  std::size_t limit = os::address_space_left() / 2;
  bytes = (bytes < kLargestRange ? bytes : kLargestRange) & ~(kRangeAlignment - 1);
  for (; bytes >= kSmallestRange; bytes = (bytes / 2) & ~(kRangeAlignment - 1)) {
    std::size_t table_bytes = bytes / page * sizeof(Block);
    void* range = bytes <= limit ? os::reserve(bytes, kRangeAlignment) : nullptr;
    void* table = range != nullptr ? os::reserve(table_bytes, page) : nullptr;
    if (table != nullptr) {
      os::advise_small(table, table_bytes);
      page_shift_ = static_cast<unsigned>(std::bit_width(page)) - 1;
      total_pages_.store(static_cast<std::uint32_t>(bytes >> page_shift_), std::memory_order_relaxed);
      chunk_pages_ = static_cast<std::uint32_t>((kChunkBytes < bytes / 16 ? kChunkBytes : bytes / 16) >> page_shift_);
      floor_pages_ = kFloorBytes >> page_shift_;
      frugal_floor_pages_ = kFrugalFloorBytes >> page_shift_;
      hold_ns_ = hold_ns;
      window_start_ns_.store(os::monotonic_ns(), std::memory_order_relaxed);
      base_ = number(range);
      reserved_.store(bytes, std::memory_order_relaxed);
      blocks_ = static_cast<Block*>(table);
      return true;
    }
    if (range != nullptr) os::unmap(range, bytes);
  }
  return false;
}

void PageHeap::fit_into(std::size_t address_space) {
  std::uint32_t before = total_pages_.load(std::memory_order_relaxed);
  std::uint64_t frontier = frontier_.load(std::memory_order_relaxed);
  std::size_t unused = (before - frontier) << page_shift_;
  std::size_t used = os::address_space_used();
  std::size_t needed = used > unused ? used - unused : 0;
  std::size_t kept = address_space > needed ? (address_space - needed) / 2 : 0;
  if (kept >= unused) {
    return;
  }
  auto after = static_cast<std::uint32_t>(frontier + (kept >> page_shift_));
  if (!total_pages_.compare_exchange_strong(before, after, std::memory_order_seq_cst)) {
    return;
  }
  std::uint64_t end = frontier_.load(std::memory_order_seq_cst);
  end = end > after ? end : after;
  std::size_t bytes = end << page_shift_;
  std::size_t former = reserved_.exchange(bytes, std::memory_order_relaxed);
  os::unmap(address_of(static_cast<std::uint32_t>(end)), former - bytes);
  std::uintptr_t page = os::page_size();
  std::uintptr_t table = (number(blocks_ + end) + page - 1) & ~(page - 1);
  os::unmap(reinterpret_cast<void*>(table), number(blocks_ + before) - table);
}

std::uint32_t PageHeap::page_of(const void* pointer) const {
  return static_cast<std::uint32_t>((number(pointer) - base_) >> page_shift_);
}

void* PageHeap::address_of(std::uint32_t page) const {
  return reinterpret_cast<void*>(base_ + (std::uintptr_t{page} << page_shift_));
}

void* PageHeap::allocate(std::size_t bytes) {
  if (bytes - 1 >= reserved()) [[unlikely]] {  // also 0 bytes, and before init
    refused_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto pages = static_cast<std::uint32_t>(((bytes - 1) >> page_shift_) + 1);
  unsigned size_class = size_class::above(pages);
  std::uint32_t page = take_resident(size_class);
  return page != kNoBlock ? hand_out(page) : allocate_slow(size_class, pages);
}

void* PageHeap::hand_out(std::uint32_t page) {
  Block& block = blocks_[page];
  block.next.store(kInUse, std::memory_order_relaxed);
  std::uint64_t pages = block.pages.load(std::memory_order_relaxed);
  std::uint64_t live = live_pages_.fetch_add(pages, std::memory_order_relaxed) + pages;
  if (live > peak_.load(std::memory_order_relaxed)) [[unlikely]] {
    raise_peak(live);
  }
  return address_of(page);
}

// Resident blocks first, if need be a little larger (at most a quarter), since a page fault costs more than the address
// space that is lost.
[[gnu::noinline]] void* PageHeap::allocate_slow(unsigned size_class, std::uint32_t pages) {
  std::uint64_t enough = pages + pages / 4;
  unsigned end = size_class + 1;
  for (; end < size_class::kCount && size_class::pages_of(end) <= enough; ++end) {
    std::uint32_t page = take_resident(end);
    if (page != kNoBlock) {
      return hand_out(page);
    }
  }
  std::uint32_t page = kNoBlock;
  for (unsigned larger = size_class; larger < end && page == kNoBlock; ++larger) {
    page = take_returned(larger);
  }
  std::uint64_t rounded = size_class::pages_of(size_class);
  if (page == kNoBlock && rounded <= total_pages_.load(std::memory_order_relaxed)) {
    page = take_fresh(static_cast<std::uint32_t>(rounded));
  }
  if (page == kNoBlock) {
    page = split(pages);
  }
  if (page == kNoBlock) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  void* block = hand_out(page);
  balance();  // the process grows: what is cached in other sizes may have to go
  return block;
}

std::uint32_t PageHeap::take_resident(unsigned size_class) {
  SizeClass& chosen = classes_[size_class];
  std::uint32_t page = chosen.resident.pop(blocks_);
  if (!chosen.wanted.load(std::memory_order_relaxed)) [[unlikely]] {
    chosen.wanted.store(true, std::memory_order_relaxed);
  }
  return page;
}

std::uint32_t PageHeap::take_returned(unsigned size_class) {
  std::uint32_t page = classes_[size_class].returned.pop(blocks_);
  if (page != kNoBlock) {
    returned_pages_.fetch_sub(blocks_[page].pages.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return page;
}

// From the committed chunk, or, when large, from the range itself.
std::uint32_t PageHeap::take_fresh(std::uint32_t pages) {
  std::uint64_t chunk = chunk_.load(std::memory_order_acquire);
  while (pages < chunk_pages_ / 8) {
    auto next = static_cast<std::uint32_t>(chunk);
    auto end = static_cast<std::uint32_t>(chunk >> 32);
    std::uint32_t fresh = kNoBlock;
    std::uint64_t replacement = packed_chunk(next + pages, end);
    if (end - next < pages) {
      fresh = claim(chunk_pages_);
      if (fresh == kNoBlock) {
        break;
      }
      returned_pages_.fetch_add(chunk_pages_, std::memory_order_relaxed);
      replacement = packed_chunk(fresh + pages, fresh + chunk_pages_);
    }
    if (chunk_.compare_exchange_strong(chunk, replacement, std::memory_order_acq_rel, std::memory_order_acquire)) {
      std::uint32_t page = fresh != kNoBlock ? fresh : next;
      if (fresh != kNoBlock && next != end) {
        put_returned(next, end - next);  // the former chunk's rest
      }
      returned_pages_.fetch_sub(pages, std::memory_order_relaxed);
      blocks_[page].pages.store(pages, std::memory_order_relaxed);
      return page;
    }
    if (fresh != kNoBlock) {
      put_returned(fresh, chunk_pages_);  // another thread was faster
    }
  }
  std::uint32_t page = claim(pages);
  if (page != kNoBlock) {
    blocks_[page].pages.store(pages, std::memory_order_relaxed);
  }
  return page;
}

// Takes never used pages out of the range. They are this caller's alone before they become usable: committing pages
// that others may already have would undo the protection of the tensors on them.
std::uint32_t PageHeap::claim(std::uint32_t pages) {
  std::uint64_t frontier = frontier_.load(std::memory_order_relaxed);
  do {
    if (frontier + pages > total_pages_.load(std::memory_order_relaxed)) {
      return kNoBlock;
    }
  } while (!frontier_.compare_exchange_weak(frontier, frontier + pages, std::memory_order_seq_cst));
  auto page = static_cast<std::uint32_t>(frontier);
  // fit_into() lowers the end first and looks at the frontier then: either it sees this claim, or this sees the new
  // end.
  if (frontier + pages <= total_pages_.load(std::memory_order_seq_cst) && commit_entries(page, pages) &&
      os::commit(address_of(page), std::size_t{pages} << page_shift_) == 0) {
    return page;
  }
  // RLIMIT_DATA, strict overcommit, or the range ends before. Undo, unless another thread has gone on from here; then
  // the addresses are lost, and counted as returned, since nothing is resident there.
  std::uint64_t mine = frontier + pages;
  if (!frontier_.compare_exchange_strong(mine, frontier, std::memory_order_acq_rel)) {
    returned_pages_.fetch_add(pages, std::memory_order_relaxed);
  }
  return kNoBlock;
}

// The table grows with what it tells of: all of it would count against RLIMIT_DATA and strict overcommit, and would be
// resident in a process that locks its memory. Entries of neighbors on the same page of it stay as they are.
bool PageHeap::commit_entries(std::uint32_t page, std::uint32_t pages) {
  const std::uintptr_t table_page = os::page_size();
  const std::uintptr_t first = number(blocks_ + page) & ~(table_page - 1);
  const std::uintptr_t end = (number(blocks_ + page + pages) + table_page - 1) & ~(table_page - 1);
  return os::commit(reinterpret_cast<void*>(first), end - first) == 0;
}

// The range is used up: cuts the block from the smallest larger one. Blocks are not joined again.
std::uint32_t PageHeap::split(std::uint32_t pages) {
  for (unsigned larger = size_class::above(pages); larger < size_class::kCount; ++larger) {
    std::uint32_t page = take_returned(larger);
    bool resident = page == kNoBlock;
    if (resident) {
      page = take_resident(larger);
    }
    if (page == kNoBlock) {
      continue;
    }
    std::uint32_t rest = blocks_[page].pages.load(std::memory_order_relaxed) - pages;
    if (rest != 0) {
      blocks_[page].pages.store(pages, std::memory_order_relaxed);
      blocks_[page + pages].pages.store(rest, std::memory_order_relaxed);
      if (resident) {
        classes_[size_class::below(rest)].resident.push(blocks_, page + pages);
      } else {
        returned_pages_.fetch_add(rest, std::memory_order_relaxed);
        classes_[size_class::below(rest)].returned.push(blocks_, page + pages);
      }
    }
    return page;
  }
  return kNoBlock;
}

// A free block without resident pages that returned_pages_ counts already.
void PageHeap::put_returned(std::uint32_t page, std::uint32_t pages) {
  blocks_[page].pages.store(pages, std::memory_order_relaxed);
  classes_[size_class::below(pages)].returned.push(blocks_, page);
}

void PageHeap::free(void* pointer) {
  std::uint32_t page = page_of(pointer);
  if (!used(pointer) || number(pointer) != number(address_of(page)) ||
      blocks_[page].next.load(std::memory_order_relaxed) != kInUse) [[unlikely]] {
    bad_frees_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::uint32_t pages = blocks_[page].pages.load(std::memory_order_relaxed);
  classes_[size_class::below(pages)].resident.push(blocks_, page);
  std::uint64_t live = live_pages_.fetch_sub(pages, std::memory_order_relaxed) - pages;
  if (over_floor(cached_pages(live), live)) [[unlikely]] {
    balance();
  }
}

std::uint64_t PageHeap::cached_pages(std::uint64_t live) const {
  std::uint64_t committed = frontier_.load(std::memory_order_relaxed);
  std::uint64_t other = live + returned_pages_.load(std::memory_order_relaxed);
  return committed > other ? committed - other : 0;  // the three are read one after the other
}

bool PageHeap::over_floor(std::uint64_t cached, std::uint64_t live) const {
  if (keep_.load(std::memory_order_relaxed) != Keep::plenty) return cached > frugal_floor_pages_;
  return cached > floor_pages_ && cached > live / 4;
}

bool PageHeap::over_limit() {
  std::uint64_t live = live_pages_.load(std::memory_order_relaxed);
  std::uint64_t cached = cached_pages(live);
  if (!over_floor(cached, live)) return false;
  const Keep keep = keep_.load(std::memory_order_relaxed);
  if (keep == Keep::nothing) return true;
  const std::uint64_t peak = recent_peak(live);
  return live + cached > peak + (keep == Keep::plenty ? peak / kSlack : 0);
}

// Returns cached blocks until the limit holds or kMaxReturns are. Sizes that nobody has asked for since the hand last
// came by go first (second chance): else those of the present loop would go and come back in every iteration, while
// those of a former loop stay.
[[gnu::noinline]] void PageHeap::balance() {
  unsigned returns = 0;
  bool over = over_limit();
  for (unsigned step = 0; over && step < 2 * size_class::kCount; ++step) {
    unsigned at = hand_.load(std::memory_order_relaxed);
    SizeClass& candidate = classes_[at];
    if (candidate.wanted.load(std::memory_order_relaxed)) {
      candidate.wanted.store(false, std::memory_order_relaxed);
    } else {
      for (std::uint32_t page = candidate.resident.pop(blocks_); page != kNoBlock;
           page = candidate.resident.pop(blocks_)) {
        // Pages locked in memory cannot be returned: the rest may be locked too.
        if (!give_back(page, at) || ++returns == kMaxReturns || !over_limit()) {
          return;
        }
      }
    }
    hand_.store((at + 1) % size_class::kCount, std::memory_order_relaxed);
  }
}

// Returns a free block's pages and puts it on the list where it then belongs.
bool PageHeap::give_back(std::uint32_t page, unsigned size_class) {
  std::uint32_t pages = blocks_[page].pages.load(std::memory_order_relaxed);
  std::size_t bytes = std::size_t{pages} << page_shift_;
  bool given = os::discard(address_of(page), bytes) == 0;
  if (given) {
    if (books_ != nullptr) books_->vacate({address_of(page), bytes});
    returned_pages_.fetch_add(pages, std::memory_order_relaxed);
    total_returned_.fetch_add(bytes, std::memory_order_relaxed);
    classes_[size_class].returned.push(blocks_, page);
  } else {
    classes_[size_class].resident.push(blocks_, page);
  }
  return given;
}

std::uint64_t PageHeap::trim() {
  std::uint64_t returned = 0;
  former_peak_.store(0, std::memory_order_relaxed);
  peak_.store(live_pages_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (unsigned i = 0; i < size_class::kCount; ++i) {
    for (std::uint32_t page = classes_[i].resident.pop(blocks_); page != kNoBlock;
         page = classes_[i].resident.pop(blocks_)) {
      std::uint64_t bytes = std::uint64_t{blocks_[page].pages.load(std::memory_order_relaxed)} << page_shift_;
      if (!give_back(page, i)) {
        return returned;
      }
      returned += bytes;
    }
  }
  return returned;
}

// The most pages that were live at once in the last one to two windows of hold_ns_.
std::uint64_t PageHeap::recent_peak(std::uint64_t live) {
  if (hold_ns_ == 0) {
    return live;
  }
  std::uint64_t now = os::monotonic_ns();
  std::uint64_t start = window_start_ns_.load(std::memory_order_relaxed);
  if (now > start && now - start > hold_ns_ &&
      window_start_ns_.compare_exchange_strong(start, now, std::memory_order_relaxed)) {
    former_peak_.store(peak_.exchange(live, std::memory_order_relaxed), std::memory_order_relaxed);
  }
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  std::uint64_t former = former_peak_.load(std::memory_order_relaxed);
  return peak > former ? peak : former;
}

[[gnu::noinline]] void PageHeap::raise_peak(std::uint64_t live) {
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

std::size_t PageHeap::block_bytes(const void* pointer) const {
  return used(pointer) ? std::size_t{blocks_[page_of(pointer)].pages.load(std::memory_order_relaxed)} << page_shift_
                       : 0;
}

const void* PageHeap::end() const {
  return reinterpret_cast<const void*>(base_ + (frontier_.load(std::memory_order_relaxed) << page_shift_));
}

void PageHeap::advise_huge(void* pointer, std::size_t bytes) {
  os::advise_huge(pointer, (bytes + os::page_size() - 1) & ~(os::page_size() - 1));
}

HeapStats PageHeap::stats() const {
  std::uint64_t live = live_pages_.load(std::memory_order_relaxed);
  return {.reserved_bytes = reserved(),
          .committed_bytes = frontier_.load(std::memory_order_relaxed) << page_shift_,
          .live_bytes = live << page_shift_,
          .cached_bytes = cached_pages(live) << page_shift_,
          .returned_bytes = total_returned_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .bad_frees = bad_frees_.load(std::memory_order_relaxed)};
}

}  // namespace hearth::arena
