// The interposed symbols of PyTorch's CPU allocator, by their mangled names: forwards, nothing to debug here.
//
// Bootstrap and exit in five sentences. The library has no constructor: until the first tensor is allocated nothing of
// ours runs, so `ls` under our preload is `ls`. The first call of alloc_cpu starts the runtime (src/runtime/start.cpp):
// libtorch is fully up by then. Nothing is ever torn down or unmapped, so storage freed by destructors after our own
// exit handler is still recognised and given back. A forked child forwards. The names contain no std:: types and are
// the same for both C++ ABIs; alloc and free are replaced together, since the memory of one must go to the other.
#include <atomic>
#include <cstddef>

#include "runtime/runtime.h"

#define HEARTH_PUBLIC __attribute__((visibility("default")))

namespace c10 {

struct Allocator;

HEARTH_PUBLIC void* alloc_cpu(std::size_t bytes) { return hearth::runtime::allocate(bytes); }

HEARTH_PUBLIC void free_cpu(void* pointer) { hearth::runtime::release(pointer); }

// Only looked at: a PyTorch whose storage does not come through alloc_cpu still comes by here.
HEARTH_PUBLIC Allocator* GetCPUAllocator() {
  static constinit std::atomic<Allocator* (*)()> original{nullptr};
  Allocator* (*forward)() = original.load(std::memory_order_relaxed);
  if (forward == nullptr) [[unlikely]] {
    forward = reinterpret_cast<Allocator* (*)()>(hearth::runtime::torch_function("_ZN3c1015GetCPUAllocatorEv"));
    original.store(forward, std::memory_order_relaxed);
  }
  hearth::runtime::allocator_requested();
  return forward();
}

}  // namespace c10
