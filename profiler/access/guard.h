// Guard: finds which tensors each op touches by protecting their pages (Sentinel, section 3.1, in user space:
// the paper poisons PTEs in a patched kernel and counts TLB misses; we protect with mprotect and count first touches
// between two op marks).
//
// Life: start() installs the SIGSEGV/SIGBUS handler; watch() arms a tensor; a touch faults, the handler opens the page
// (read-only for a read, so that a later write of the same op is seen too), reports it to the sink and returns;
// rearm() protects again what was opened since the last mark; forget() opens a tensor for good before it is freed;
// stop() opens everything and gives the handler back. Faults that are not ours go to the program's own handler.
//
// Thread-safety: watch/forget/prepare_io from any thread; rearm/start/stop from the thread that runs the iterations.
// The handler runs on any thread, several at once on one tensor. No lock, malloc or exception anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "hearth/trace.h"
#include "registry/registry.h"

namespace hearth::access {

struct GuardOptions {
  bool sample_pages = false;               // pages mode: sampled pages of large tensors besides every first page
  std::uint64_t sample_min_bytes = 1 << 20;  // tensors from this size on are sampled
  std::uint32_t samples_per_tensor = 128;
  std::uint32_t max_mappings = 0;          // VMA budget; 0 = a third of what vm.max_map_count leaves
};

struct GuardStats {
  std::uint64_t faults = 0;           // ours, handled
  std::uint64_t raced = 0;            // several threads on one page at once
  std::uint64_t foreign = 0;          // passed on to the program's handler
  std::uint64_t watched = 0;          // tensors armed so far
  std::uint64_t unwatched_budget = 0; // tensors left open for want of mappings
  std::uint64_t protect_failures = 0; // mprotect refused (ENOMEM)
  std::uint64_t kernel_io = 0;        // system calls whose buffers were opened first
  bool handler_stolen = false;        // someone replaced our handler; everything was opened
};

// Called by the handler: async-signal context.
using FaultSink = void (*)(TensorSlot slot, std::uint32_t page, hearth_access access);

bool start(registry::Registry& registry, const GuardOptions& options, FaultSink sink);
// Arms a tensor that is alone on its pages. False if it was left open.
bool watch(TensorSlot slot, hearth_watch* how, std::uint32_t* pages);
void rearm();
void forget(TensorSlot slot);
// Opens what [address, address+bytes) covers, before the kernel reads or writes it. One compare when idle.
void prepare_io(const void* address, std::size_t bytes);
void stop();
bool active();
GuardStats stats();
// In the child of a fork: opens everything, forgets everything, keeps the program's handler.
void child_after_fork();
// Measured cost of one protect-fault-open round trip on this machine, nanoseconds.
std::uint64_t measure_fault_ns();

}  // namespace hearth::access
