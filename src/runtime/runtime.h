// The runtime as the preloaded symbols see it: seven entry points, each a screen of code at most.
//
// Thread-safety: all from any thread. allocate/release keep the contract of c10::alloc_cpu/free_cpu; allocate may
// propagate the exception that PyTorch's own allocator throws (no Hearth state is held across that call).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::runtime {

void* allocate(std::size_t bytes);
void release(void* pointer);

// A look at the door: PyTorch asked for its CPU allocator. Starts Hearth when storage does not come through allocate().
void allocator_requested();

// May pages be guarded in this process, now or later? Asked before a thread begins; true until it is known better.
bool may_guard();

// What preload/ lends to the runtime; defined there, bound by the linker, so that nothing has to be registered.
struct Skin {
  void (*after_start)();  // once, when tracking has begun: installs signal handlers for reports
};
extern const Skin kSkin;

// The program is about to limit its address space to so many bytes: what the heap reserved and does not need goes back.
// Not with two tiers, whose books are kept by address.
void limit_address_space(std::size_t bytes);

// PyTorch's c10 function of that mangled name, from the libc10 that is mapped; null if there is none.
void* torch_function(const char* mangled);

// Process exit (fini, _exit): writes report, trace and summary once, in the process that was observed.
void finish();
// From a signal handler: writes the report with what is ready. Async-signal-safe.
void write_report_from_signal();

}  // namespace hearth::runtime
