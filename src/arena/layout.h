// Layout: the slots of one plan within an arena's address range, and which of them are taken.
//
// The plan lets tensors share addresses when they do not live at the same time. Here time plays no part: a slot may be
// taken when no slot that overlaps it in address is taken. So a program that leaves its plan (skips ops, keeps a
// tensor, throws) loses memory or a little time, and never gets memory that is in use. Slots are numbered by offset;
// the slots that overlap one are then a run of neighbours, which begin inside it, and a few earlier ones, which reach
// into it.
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
  static constexpr std::uint32_t kNone = 0xffffffffu;

  constexpr Layout() = default;

  // Entry i of the sequence lies in places[i]. False if the system refuses memory or there are too many slots.
  bool load(std::span<const Place> places);
  // Nobody uses it any more.
  void unload();

  // The offset of entry `entry`, taken by it; kNotFree if something that overlaps it is taken, or it is not planned.
  static constexpr std::uint64_t kNotFree = ~std::uint64_t{0};
  std::uint64_t take(std::uint32_t entry);
  bool planned(std::uint32_t entry) const { return entries_[entry] != kNone; }

  // Frees what starts at `offset`: its bytes, 0 if nothing is taken there.
  std::uint64_t free(std::uint64_t offset);
  // What is taken around `offset`, which may lie inside it; {0, 0} if nothing is. A walk over all that is taken.
  struct Taken {
    std::uint64_t begin = 0, end = 0;
  };
  Taken tenant(std::uint64_t offset) const;
  bool any_taken(std::uint64_t from, std::uint64_t to) const;
  bool empty() const;
  // Where a planned entry is to lie.
  Taken extent(std::uint32_t entry) const {
    const Slot& slot = slots_[entries_[entry]];
    return {slot.offset, slot.end};
  }

  std::uint64_t height() const { return height_; }  // end of the highest slot
  std::uint32_t slots() const { return slot_count_; }
  std::size_t table_bytes() const { return table_bytes_; }

 private:
  struct alignas(64) Slot {  // one cache line
    std::uint64_t offset;
    std::uint64_t end;
    std::uint64_t first_mask, last_mask;  // of the run of slots that begin inside it, itself included
    std::uint32_t first_word, last_word;
    std::uint32_t reach, reach_count;  // in reaches_: earlier slots that end inside or after it, before first_word
    std::uint32_t start;               // in starts_
    std::uint32_t number;              // its bit in taken_
  };
  struct Reach {
    std::uint64_t mask;
    std::uint64_t word;
  };
  struct Start {                      // of a hash table
    std::uint64_t key;                // offset + 1; 0: empty
    std::atomic<std::uint32_t> slot;  // the last one taken of those that begin there
  };
  struct Sorted;  // working memory of load()

  static void sort(std::span<const Place> places, Sorted& sorted);
  template <class Visit>
  static void for_each_reach(const Sorted& sorted, Visit visit);
  bool map(const Sorted& sorted, std::uint32_t entries);
  void number_slots(std::span<const Place> places, const Sorted& sorted);
  void fill_slots(const Sorted& sorted);
  void fill_reaches(const Sorted& sorted);
  std::uint32_t start_of(std::uint64_t offset) const;
  template <class Visit>
  void for_each_taken(Visit visit) const;

  std::uint32_t* entries_ = nullptr;   // entry to slot
  Slot* slots_ = nullptr;              // as first used: the processor fetches ahead what is read in order
  std::uint32_t* numbered_ = nullptr;  // number to slot
  Reach* reaches_ = nullptr;
  std::atomic<std::uint64_t>* taken_ = nullptr;
  Start* starts_ = nullptr;
  unsigned start_shift_ = 0;  // 64 - log2 of the hash table's size
  std::uint32_t slot_count_ = 0;
  std::uint32_t words_ = 0;
  std::uint64_t height_ = 0;
  void* memory_ = nullptr;
  std::size_t table_bytes_ = 0;
};

}  // namespace hearth::arena
