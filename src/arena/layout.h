// Layout: the slots of one plan within an arena's address range, and which of them are taken.
//
// The plan lets tensors share addresses when they do not live at the same time. Here time plays no part: a slot may be
// taken when nothing that overlaps it in address is taken. So a program that leaves its plan (skips ops, keeps a
// tensor, throws) loses memory or a little time, and never gets memory that is in use.
//
// The offsets at which slots begin or end cut the arena into segments; one bit tells whether a segment is taken. A slot
// is a run of segments, mostly within one or two words, so that asking and taking is a test and an OR. Words in the
// middle of a large slot are its own while it is taken, and need no atomic operation but a store.
//
// Thread-safety: load first. take from one thread; free and all questions from any thread, meanwhile. No lock, no
// malloc, no exception; fork-safe. Memory: own mapping, unmapped by unload.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::arena {

// One allocation of the planned sequence.
struct Place {
  std::uint64_t offset = 0;  // in the arena, a multiple of 64
  std::uint64_t bytes = 0;
  bool planned = false;  // false: this allocation is left to the heap

  bool takes_room() const { return planned && bytes != 0; }
};

class Layout {
 public:
  constexpr Layout() = default;

  // Entry i of the sequence lies in places[i]. False if the system refuses memory or there are too many.
  bool load(std::span<const Place> places);
  // Nobody uses it any more.
  void unload();

  // The offset of entry `entry`, taken by it; kNotFree if something that overlaps it is taken, or it is not planned.
  static constexpr std::uint64_t kNotFree = ~std::uint64_t{0};
  std::uint64_t take(std::uint32_t entry);
  bool planned(std::uint32_t entry) const { return slots_[entry].bytes != 0; }

  // Frees what starts at `offset`: its bytes, 0 if nothing is taken there.
  std::uint64_t free(std::uint64_t offset);
  // Which entry has taken what starts at `offset`; kNobody if none.
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  std::uint32_t taken_by(std::uint64_t offset) const;
  // What is taken around `offset`, which may lie inside it; {0, 0} if nothing is. A walk over all that is taken.
  struct Taken {
    std::uint64_t begin = 0, end = 0;
  };
  Taken tenant(std::uint64_t offset) const;
  // The first that does not end before `from`; {0, 0} if there is none.
  Taken next_taken(std::uint64_t from) const;
  bool any_taken(std::uint64_t from, std::uint64_t to) const;
  bool empty() const;
  // Where a planned entry is to lie.
  Taken extent(std::uint32_t entry) const {
    const Slot& slot = slots_[entry];
    return {slot.offset, slot.offset + slot.bytes};
  }

  std::uint64_t height() const { return height_; }  // end of the highest slot
  std::size_t table_bytes() const { return table_bytes_; }

 private:
  using Word = std::atomic<std::uint64_t>;
  struct Slot {  // of an entry
    std::uint64_t offset;
    std::uint64_t bytes;        // 0: not planned
    std::uint32_t first, last;  // segments, both included
    std::uint32_t start;        // in starts_
  };
  struct Start {                        // of a hash table: who has taken what begins there
    std::uint64_t key;                  // offset + 1; 0: empty
    std::atomic<std::uint32_t> tenant;  // entry + 1; 0: nobody
  };
  struct Cuts;  // working memory of load()

  bool map(std::uint32_t entries, std::uint32_t segments);
  std::uint32_t start_of(std::uint64_t offset) const;
  template <class Visit>
  void for_each_taken(Visit visit) const;

  Slot* slots_ = nullptr;
  Word* taken_ = nullptr;
  Start* starts_ = nullptr;
  unsigned start_shift_ = 0;  // 64 - log2 of the hash table's size
  std::uint32_t words_ = 0;
  std::uint64_t height_ = 0;
  void* memory_ = nullptr;
  std::size_t table_bytes_ = 0;
};

}  // namespace hearth::arena
