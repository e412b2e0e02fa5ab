// The way of a tensor: allocate and release.
#include "runtime/emulation.h"
#include "runtime/fill.h"
#include "runtime/phases.h"
#include "runtime/runtime.h"
#include "runtime/start.h"
#include "runtime/state.h"
#include "runtime/tiers.h"

namespace hearth::runtime {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Null: this tensor stays with PyTorch's allocator.
void* allocate_own_pages(std::size_t bytes) {
  if (!g.heap_ready || bytes < g.min_bytes || bytes > static_cast<std::size_t>(PTRDIFF_MAX)) return nullptr;
  if (g.torch.numa != nullptr && *g.torch.numa) return nullptr;  // PyTorch moves pages itself then
  void* block = g.heap.allocate(bytes);
  if (block == nullptr) return nullptr;
  place(block, bytes);
  if (g.torch.huge_pages && bytes >= kHugePage) g.heap.advise_huge(block, bytes);
  fill_as_asked(block, bytes);
  return block;
}

void raise_peak(std::uint64_t live) {
  std::uint64_t peak = g.counters.peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !g.counters.peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

void track(void* pointer, std::size_t bytes, bool own_pages) {
  Thread& thread = t_thread;
  registry::NewTensor tensor{};
  tensor.address = pointer;
  tensor.bytes = bytes;
  tensor.op = innermost_op();
  tensor.iteration = g.iteration.load(std::memory_order_relaxed);
  tensor.op_index = thread.op_index;
  tensor.nth = thread.nth++;
  tensor.own_pages = own_pages;
  const TensorSlot slot = g.registry.add(tensor);

  g.counters.allocations.fetch_add(1, std::memory_order_relaxed);
  raise_peak(g.counters.live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  if (profiling()) note_allocation(slot, bytes, own_pages);
}

// An emulated tier is to know of what no op announces, while it lies somewhere still.
void charge_scratch(const void* pointer) {
  std::uint64_t bytes = planned_bytes(pointer);
  if (bytes == 0) {
    const TensorSlot slot = g.registry.find(pointer);
    if (slot) bytes = g.registry.at(slot).bytes;
  }
  if (bytes != 0) charge_freed(pointer, bytes);
}

// Freed, and not in the registry: allocated before us, or small while a plan was followed.
void count_unknown_free() {
  Managed& m = g.managed;
  const bool small = m.small_freed.load(std::memory_order_relaxed) < m.small.get();
  (small ? m.small_freed : g.counters.foreign_frees).fetch_add(1, std::memory_order_relaxed);
}

void untrack(void* pointer) {
  const TensorSlot slot = g.registry.remove(pointer);
  if (!slot) {
    count_unknown_free();
    return;
  }
  access::forget(slot);  // in every phase: a profile that another thread is just beginning may have armed it
  if (profiling()) note_free(slot);
  g.counters.frees.fetch_add(1, std::memory_order_relaxed);
  g.counters.live_bytes.fetch_sub(g.registry.at(slot).bytes, std::memory_order_relaxed);
  g.registry.release(slot);
}

}  // namespace

namespace {

void* allocate_anywhere(std::size_t bytes) {
  const Mode mode = g.mode.load(std::memory_order_acquire);
  if (mode == Mode::bootstrap) [[unlikely]] {
    start();
    return allocate_anywhere(bytes);
  }
  if (mode != Mode::tracking) return torch_allocate(bytes);
  if (g.managed.owner.load(std::memory_order_relaxed) == t_thread.number) {
    if (void* place = allocate_planned(bytes); place != nullptr) return place;
  }
  thread_number();
  if (!managing() && on_main_thread() && g.detector.allocation(bytes)) iteration_closed();
  void* pointer = allocate_own_pages(bytes);
  const bool own_pages = pointer != nullptr;
  // May throw into PyTorch, which is what PyTorch expects: nothing of ours is held here.
  if (!own_pages) pointer = torch_allocate(bytes);
  if (pointer != nullptr) track(pointer, bytes, own_pages);
  return pointer;
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* pointer = allocate_anywhere(bytes);
  if (g.tiers.emulating) [[unlikely]]
    charge_allocated(pointer);
  return pointer;
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  if (g.tiers.emulating) [[unlikely]]
    charge_scratch(pointer);
  if (release_planned(pointer)) return;
  const bool tracking = g.mode.load(std::memory_order_acquire) == Mode::tracking;
  if (tracking) {
    if (!managing() && on_main_thread()) g.detector.deallocation();
    untrack(pointer);
  }
  if (g.heap.owns(pointer)) {
    g.heap.free(pointer);
  } else {
    torch_release(pointer);
  }
}

}  // namespace hearth::runtime
