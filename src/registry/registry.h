// Registry: from any address inside a live tensor storage to the record of that tensor, without locks.
//
// Two lock-free structures that cover our heap's memory and libc's alike:
//   - a hash of start addresses (fixed window, erase by clearing a slot, no tombstones), and
//   - a radix tree over 4 KiB pages that gives the tensor that covers the page's FIRST byte.
// find(p): the page's tensor if p lies in it, else the hash probed backwards in 64-byte steps to the page's start
// (tensor storage is 64-byte aligned), since at most 64 tensors begin in one page.
//
// Thread-safety: every function from any thread; add/remove of one address never race with each other because the
// allocator hands an address out once (remove before the memory is given back). find of an address that is being freed
// returns either answer. Untracked: what is not 64-byte aligned, empty, or beyond 48-bit addresses. No function
// allocates through malloc, takes a lock or throws. Memory: own mmap, touched lazily, under 1 MiB for a thousand
// tensors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "registry/page_tree.h"
#include "registry/start_table.h"

namespace hearth::registry {

// One live tensor storage. Plain fields are written before the slot is published and constant while it lives.
struct Tensor {
  std::atomic<std::uintptr_t> address{0};  // 0: slot is free
  std::uint64_t bytes = 0;                 // as requested
  TensorSerial serial{};
  NameId op{};                  // innermost op that allocated it; none = outside any
  std::uint64_t iteration = 0;  // in which it was allocated
  std::uint32_t op_index = 0;   // index of that op within the iteration, of the main thread's clock
  std::uint32_t nth = 0;        // n-th allocation of that op
  bool own_pages = false;       // served by Hearth's heap
  // Bits 0 and up belong to whoever watches tensors (profiler/access); cleared by add().
  std::atomic<std::uint32_t> watch{0};
};

struct NewTensor {
  const void* address;
  std::uint64_t bytes;
  NameId op;
  std::uint64_t iteration;
  std::uint32_t op_index;
  std::uint32_t nth;
  bool own_pages;
};

class Registry {
 public:
  static constexpr std::uint32_t kMaxCapacity = 1u << 20;

  constexpr Registry() = default;

  // Reserves address space for `capacity` tensors (at most kMaxCapacity are used). False if the system refuses; the
  // registry then tracks nothing.
  bool init(std::uint32_t capacity);

  // None when full (counted in untracked()). Serials count from 1. An address that is still known was freed behind our
  // back: the older tensor is dropped.
  TensorSlot add(const NewTensor& tensor);
  // Takes the tensor that starts at `address` out. None if unknown. The record stays readable until release(slot).
  TensorSlot remove(const void* address);
  // Gives the slot back for reuse, after remove().
  void release(TensorSlot slot);

  TensorSlot find(const void* address) const;        // interior pointers too
  TensorSlot find_start(const void* address) const;  // exact starts only; faster
  Tensor& at(TensorSlot slot);
  // Is the tensor with this serial still there? Ordered with remove() as one sequence: who stores something into the
  // record and then gets a yes here can rely on the remover, after its remove(), finding what was stored.
  bool lives(TensorSlot slot, TensorSerial serial) const;
  const Tensor& at(TensorSlot slot) const;

  // One past the highest slot ever used: for (i = 1; i < slot_limit(); ++i) visits all; address == 0 means free.
  std::uint32_t slot_limit() const;
  std::uint64_t untracked() const;
  std::uint32_t last_serial() const;

 private:
  struct alignas(64) Slot {
    Tensor tensor;
    std::atomic<std::uint32_t> next{0};  // in the free list
    std::atomic<bool> live{false};       // between add and remove
  };

  Slot& slot(std::uint32_t index) const { return slots_.load(std::memory_order_acquire)[index]; }
  bool covers(std::uint32_t index, std::uintptr_t address) const;
  std::uint32_t take_slot();
  void give_slot(std::uint32_t index);
  void fill(Tensor& record, const NewTensor& tensor);
  TensorSlot not_tracked();

  StartTable starts_;
  PageTree pages_;
  std::atomic<Slot*> slots_{nullptr};  // stored last by init: not null = everything is there
  std::uint32_t capacity_ = 0;

  // Written by every add and release: away from what every find reads.
  alignas(64) std::atomic<std::uint64_t> free_{0};  // tag << 32 | first free slot; the tag defeats ABA
  std::atomic<std::uint32_t> limit_{1};
  std::atomic<std::uint32_t> serial_{0};
  std::atomic<std::uint64_t> untracked_{0};
};

}  // namespace hearth::registry
