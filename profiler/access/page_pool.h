// PagePool: one 64-bit word for every page that is or was guarded, and the list of those to be armed again.
//
// A word is page address | holds | flags | state, so that whoever has a word can act on its page without any other
// table; the words of one tensor follow a header word (slot, number of pages) in order of address, and the registry's
// `watch` field of the tensor is the header's index. Words are handed out by a bump index that runs on from one
// profiled iteration to the next, so an index that a late thread still carries names a page that is open for good.
//
//   ARMED --touch--> BUSY --> READABLE (read) or OPEN (write), and onto the list
//   READABLE --write--> BUSY --> OPEN          READABLE, OPEN --rearm--> BUSY --> ARMED
//   any --forget, prepare_io, stop--> BUSY --> DEAD: open for good
//   OPEN with holds > 0: a system call is using the page; rearm leaves it, the last let_go puts it onto the list
//
// BUSY is a lock of one page, held over one mprotect. Whoever holds one waits for another only in ascending order
// within one tensor; rearm, which holds pages of several, only tries.
//
// Thread-safety: everything but reset from any thread, also in the fault handler. Memory: reserved once, touched
// lazily.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "access/spin.h"
#include "base/ids.h"

namespace hearth::access {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free);

enum class State : std::uint64_t { empty = 0, armed = 1, busy = 2, readable = 3, open = 4, dead = 5, header = 7 };

constexpr std::uint64_t kStateMask = 7;
constexpr std::uint64_t kListed = 8;
constexpr std::uint64_t kHold = 16;  // bits 4 to 11 count holds
constexpr std::uint64_t kHoldMask = 0xff0;
constexpr std::uint64_t kPageMask = ~std::uint64_t{0xfff};

constexpr State state_of(std::uint64_t word) { return static_cast<State>(word & kStateMask); }
constexpr std::uint64_t with_state(std::uint64_t word, State state) {
  return (word & ~kStateMask) | static_cast<std::uint64_t>(state);
}
constexpr std::uintptr_t page_of(std::uint64_t word) { return word & kPageMask; }
constexpr bool held(std::uint64_t word) { return (word & kHoldMask) != 0; }

constexpr std::uint64_t make_header(TensorSlot slot, std::uint32_t pages) {
  return std::uint64_t{slot.value} << 32 | std::uint64_t{pages} << 8 | static_cast<std::uint64_t>(State::header);
}
constexpr TensorSlot header_slot(std::uint64_t header) { return {static_cast<std::uint32_t>(header >> 32)}; }
constexpr std::uint32_t header_pages(std::uint64_t header) {
  return static_cast<std::uint32_t>(header >> 8) & 0xffffff;
}

// Takes a page's word and returns what it was; a DEAD one is returned, not taken: that state is final.
// *waited tells whether somebody else had it.
inline std::uint64_t lock(Word& word, bool* waited = nullptr) {
  for (Spin spin;; spin.wait()) {
    std::uint64_t before = word.load(std::memory_order_acquire);
    if (waited != nullptr) *waited = spin.waited();
    if (state_of(before) == State::dead) return before;
    if (state_of(before) != State::busy &&
        word.compare_exchange_weak(before, with_state(before, State::busy), std::memory_order_acquire)) {
      return before;
    }
  }
}
// Without waiting; false if somebody has it (*before says BUSY) or it is DEAD.
inline bool try_lock(Word& word, std::uint64_t* before) {
  *before = word.load(std::memory_order_acquire);
  return state_of(*before) != State::busy && state_of(*before) != State::dead &&
         word.compare_exchange_strong(*before, with_state(*before, State::busy), std::memory_order_acquire);
}
inline void unlock(Word& word, std::uint64_t value) { word.store(value, std::memory_order_release); }

class PagePool {
 public:
  static constexpr std::uint32_t kCapacity = 1u << 22;  // words: 32 MiB of address space
  static constexpr std::uint32_t kMaxPages = 1u << 16;  // of one tensor

  constexpr PagePool() = default;

  bool init();  // idempotent; false if the system has no address space
  // A new run begins; its first index. Starts over at the front when less than half is left.
  std::uint32_t begin_run();

  // Index of a header followed by `pages` empty words; 0 when full.
  std::uint32_t allocate(TensorSlot slot, std::uint32_t pages);
  Word& at(std::uint32_t index) { return words_[index]; }
  std::uint32_t limit() const;  // indices 1..limit()-1 have been handed out

  // Puts a page onto the list of those to be armed again. At most once until taken: the caller sets kListed.
  void list(std::uint32_t index);
  bool any_listed() const { return listed_.load(std::memory_order_relaxed) != 0; }
  // Takes the whole list: its first index, the others through next_listed; 0 ends it.
  std::uint32_t take_list() { return listed_.exchange(0, std::memory_order_acquire); }
  std::uint32_t next_listed(std::uint32_t index) const { return next_[index].load(std::memory_order_relaxed); }

 private:
  Word* words_ = nullptr;
  std::atomic<std::uint32_t>* next_ = nullptr;
  std::atomic<std::uint32_t> used_{1};
  std::atomic<std::uint32_t> listed_{0};
};

}  // namespace hearth::access
