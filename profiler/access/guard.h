// Guard: finds which tensors each op touches by protecting their pages (Sentinel, section 3.1, in user space:
// the paper poisons PTEs in a patched kernel and counts TLB misses; we protect with mprotect and count first touches
// between two op marks).
//
// Life: start() installs the SIGSEGV handler; watch() arms a tensor; a touch faults, the handler opens the page
// (read-only for a read, so that a later write of the same op is seen too), reports it to the sink and returns;
// rearm() protects again what was opened since the last mark; forget() opens a tensor for good before it is freed;
// stop() opens everything. Faults that are not ours go to the program's own handler.
//
// The handler stays installed after stop(), passing everything on: a thread may have faulted just before its page was
// opened, and on a busy machine the kernel can look for the handler many milliseconds later. The program's default
// disposition would then take it for a crash. SIGBUS is never touched: Linux reports protection as SIGSEGV only.
//
// Thread-safety: watch/forget/prepare_io from any thread; rearm/start/stop from the thread that runs the iterations.
// The handler runs on any thread, several at once on one tensor. No lock, malloc or exception anywhere; a thread that
// meets a page which another is just opening spins for the length of that one mprotect.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "hearth/trace.h"
#include "registry/registry.h"

namespace hearth::access {

struct GuardOptions {
  bool sample_pages = false;                 // pages mode: sampled pages of large tensors besides every first page
  std::uint64_t sample_min_bytes = 1 << 20;  // tensors from this size on are sampled
  std::uint32_t samples_per_tensor = 128;
  std::uint32_t max_mappings = 0;  // VMA budget; 0 = a third of what vm.max_map_count leaves
};

struct GuardStats {
  std::uint64_t faults = 0;            // ours, handled
  std::uint64_t raced = 0;             // several threads on one page at once
  std::uint64_t foreign = 0;           // passed on to the program's handler
  std::uint64_t watched = 0;           // tensors armed so far
  std::uint64_t unwatched_budget = 0;  // tensors left open for want of mappings
  std::uint64_t protect_failures = 0;  // mprotect refused (ENOMEM)
  std::uint64_t kernel_io = 0;         // system calls whose buffers were opened first
  bool handler_stolen = false;         // someone replaced our handler; everything was opened
};

// Called by the handler and by prepare_io: async-signal context.
using FaultSink = void (*)(TensorSlot slot, std::uint32_t page, hearth_access access);

// False: nothing is guarded and refusal() says why.
bool start(registry::Registry& registry, const GuardOptions& options, FaultSink sink);
// Cause and cure of the last start() that returned false, one sentence in static storage; "" after a success.
const char* refusal();
// Arms a tensor that is alone on its pages. False if it was left open.
bool watch(TensorSlot slot, hearth_watch* how, std::uint32_t* pages);
void rearm();
void forget(TensorSlot slot);
// Opens what [address, address+bytes) covers until stop(), before the kernel or the program itself does something to
// it that protection would disturb. `access` UNKNOWN: nothing is reported. For one system call: IoGuard (io_guard.h).
void prepare_io(const void* address, std::size_t bytes, hearth_access access = HEARTH_ACCESS_UNKNOWN);
void stop();
GuardStats stats();
// In the child of a fork: opens everything, forgets everything, gives the program's handler back.
void child_after_fork();
// Measured cost of one protect-fault-open round trip on this machine, nanoseconds. 0 while SIGSEGV is not to be had.
std::uint64_t measure_fault_ns();

namespace detail {
extern std::atomic<bool> g_active;
}

// One relaxed load: the whole cost of an interposed function while nothing is guarded.
inline bool active() { return detail::g_active.load(std::memory_order_relaxed); }

}  // namespace hearth::access
