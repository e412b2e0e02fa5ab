// PackedArena: one range of address space in which planned tensors lie, 2 MiB aligned, with huge pages where the system
// gives them, and the layouts (plans) that share it. Once its pages have been touched, an iteration under the plan
// makes no page fault and no system call.
//
// One layout is current: tensors are taken from it. Tensors of another one, from before a change of plans, linger until
// they are freed; what overlaps them is not taken.
//
// Thread-safety: init, add, select, settle and take from the one thread that follows the plan; owns, free, tenant and
// stats from any. No lock, malloc or exception. fork: nothing is locked; a child may free what it inherited.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "arena/layout.h"
#include "tier/pages.h"

namespace hearth::arena {

class PackedArena {
 public:
  static constexpr std::uint32_t kLayouts = 8;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  struct Tenant {
    const void* address = nullptr;  // null: nobody's
    std::uint64_t bytes = 0;
  };

  constexpr PackedArena() = default;

  // Reserves address space for layouts of up to about `height` bytes, more where there is plenty. False if refused.
  bool init(std::uint64_t height);
  bool ready() const { return base_ != 0; }
  // As for PageHeap.
  void keep_books(tier::Pages& books) { books_ = &books; }

  // One more layout: its number. kNone if the system refuses, it does not fit the range, or there are kLayouts.
  std::uint32_t add(std::span<const Place> places);
  void select(std::uint32_t layout);
  std::uint32_t current() const { return current_.load(std::memory_order_relaxed); }
  // Between two iterations: finds out who still lingers.
  void settle();

  // Entry `entry` of the current layout: its memory, or null if its place is not free or it has none.
  void* take(std::uint32_t entry) {
    // Asked before taking: a thread that frees a lingering tensor at the same offset must not find ours instead.
    // Nothing comes to linger meanwhile, since that is this thread's doing too.
    if (lingering_ != 0 && beside_lingering(entry)) [[unlikely]]
      return nullptr;
    const std::uint64_t offset = layouts_[current_.load(std::memory_order_relaxed)].take(entry);
    if (offset == Layout::kNotFree) [[unlikely]]
      return nullptr;
    return reinterpret_cast<void*>(base_ + offset);
  }
  bool planned(std::uint32_t entry) const { return layouts_[current()].planned(entry); }

  bool owns(const void* pointer) const { return reinterpret_cast<std::uintptr_t>(pointer) - base_ < reserved_; }
  // Of a pointer that owns() holds for: the bytes that were taken there, 0 if nothing was.
  std::uint64_t free(const void* pointer) {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(pointer) - base_;
    const std::uint64_t bytes = layouts_[current_.load(std::memory_order_acquire)].free(offset);
    return bytes != 0 ? bytes : free_elsewhere(offset);
  }
  // Of a pointer that owns() holds for and at which a tensor begins: its bytes, and its entry if it lies there by the
  // current layout. 0 bytes if nothing begins there.
  struct Begun {
    std::uint64_t bytes = 0;
    std::uint32_t entry = kNone;
  };
  Begun begun_at(const void* pointer) const;
  // Whose byte this is; interior pointers too. Slow.
  Tenant tenant(const void* pointer) const;
  // Is nothing taken, in any layout?
  bool empty() const;
  // Gives all pages back to the kernel; nothing may be taken.
  void discard();
  // Gives back the pages on which nothing lies. Nothing may be taken meanwhile.
  void discard_free();
  std::uint32_t layouts() const { return count_.load(std::memory_order_relaxed); }

  const void* begin() const { return reinterpret_cast<const void*>(base_); }
  std::uint64_t height() const { return height_; }  // of the highest layout
  std::uint64_t reserved() const { return reserved_; }

 private:
  bool beside_lingering(std::uint32_t entry) const;
  Layout::Taken next_taken(std::uint64_t from) const;
  std::uint64_t free_elsewhere(std::uint64_t offset);
  void give_back(std::uint64_t begin, std::uint64_t end);

  std::uintptr_t base_ = 0;
  std::uint64_t reserved_ = 0;
  tier::Pages* books_ = nullptr;
  std::uint64_t height_ = 0;     // committed
  std::uint32_t lingering_ = 0;  // bit mask of layouts
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> current_{0};
  Layout layouts_[kLayouts];
};

}  // namespace hearth::arena
