// Backend: what a tier is made of here, and how pages get from one to the other.
//
//   numa      pages on NUMA nodes, mbind and move_pages: the real thing
//   emulated  the same pages, the tier kept in the books alone; a move is a real copy, throttled to the machine's speed
//   single    one kind of memory: nothing is placed, nothing moves
//
// A backend does one step and reports what came of it; who may do what when is the migrator's business (src/migrate),
// what is where stands in the books (pages.h), which no backend touches. All share tests/contract/tier.
//
// Thread-safety: bind and locate from any thread; move from several movers at once, on different extents; forget by the
// thread that owns the pages. No lock, no malloc, no exception. A program may touch the pages while they move, and
// finds their contents: forget() alone loses any, and no mover ever calls it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/pages.h"
#include "tier/tier.h"

namespace hearth::tier {

// What came of a move, bytes of whole pages; their sum is the extent's.
struct Moved {
  std::uint64_t there = 0;   // on the target now: moved, or already there
  std::uint64_t absent = 0;  // had no memory, so there was nothing to move
  std::uint64_t failed = 0;  // stayed where they were
  int error = 0;             // why, of the last that failed: an errno value; EBUSY for pinned pages
  std::uint32_t calls = 0;   // system calls made
  std::uint32_t retries = 0;
  bool bound = false;  // and the extent is bound to the target now, so that memory it gets later comes from there
};

class Backend {
 public:
  virtual const char* name() const = 0;
  // Are there two tiers at all?
  virtual bool tiered() const = 0;
  // Memory that the extent does not have yet shall come from there, preferably: a full tier spills into the other one.
  // 0 or an errno value.
  virtual int bind(Extent pages, Tier tier) = 0;
  // Returns when the pages have moved or will not. At most kMoveUnit at a time keeps it interruptible.
  virtual Moved move(Extent pages, Tier to) = 0;
  // Does the slow tier keep the contents of pages that are fetched from it, so that those not written since go back
  // without a copy? Then drop_clean sends them back: true when it has. It sees to it that nothing is lost where one has
  // been written after all. What it does not take, move() takes.
  virtual bool keeps_copies() const = 0;
  virtual bool drop_clean(Extent pages) = 0;
  // Nobody needs what the whole pages within the extent hold (those that it shares with a neighbour at either end are
  // left alone): their memory may be given back, and then they read as zero. Only for the thread that owns them, at a
  // moment when nothing lives there: what it writes afterwards is safe, whatever the movers do. False if all is as it
  // was.
  virtual bool forget(Extent pages) = 0;
  // Where `count` pages really are, 4 KiB each, from `address` on. 0 or an errno value.
  virtual int locate(const void* address, std::size_t count, Tier* tiers) = 0;

  static constexpr std::uint64_t kMoveUnit = std::uint64_t{2} << 20;

 protected:
  constexpr Backend() = default;
  ~Backend() = default;  // never destroyed
};

}  // namespace hearth::tier
