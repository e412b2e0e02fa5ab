// The runtime's state: one constinit object, no constructor, nothing ever torn down (late frees stay safe).
//
// Hot: read and written on the way of every tensor and every op. Three words decide what happens there:
//   mode       bootstrap -> starting -> tracking | forwarding. Children of fork and a disabled Hearth forward.
//   phase      what `tracking` is busy with: observe, profile, or managed.
//   main       the thread whose ops are the clock; only it feeds the detector and changes phase.
// Everything else is owned by one of the rooms.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "access/guard.h"
#include "arena/page_heap.h"
#include "base/bridge_abi.h"
#include "base/ids.h"
#include "config/knobs.h"
#include "iteration/detector.h"
#include "registry/registry.h"
#include "runtime/charges.h"
#include "runtime/lateness.h"
#include "runtime/managed.h"
#include "runtime/op_times.h"
#include "runtime/planner.h"
#include "runtime/residency.h"
#include "runtime/tiers.h"
#include "runtime/trials.h"
#include "runtime/waits.h"
#include "trace/event_log.h"
#include "trace/names.h"

namespace hearth::runtime {

enum class Mode : std::uint8_t { bootstrap, starting, tracking, forwarding };
enum class Phase : std::uint8_t { observe, profile, managed };
enum class HookStatus : std::uint8_t { unknown, interposed, registered_allocator, none, switched_off };

constexpr std::uint32_t kMaxOpDepth = 128;
constexpr std::uint32_t kDurations = 64;  // durations of the last unprofiled iterations, for their median

// Per thread; trivially destructible, zero when the thread begins.
struct Thread {
  std::uint32_t number = 0;    // from 1, given at the first mark or allocation; 0 = none yet
  std::uint32_t depth = 0;     // open ops; those beyond kMaxOpDepth are counted, not stored
  std::uint32_t op_index = 0;  // ops begun in this iteration
  std::uint32_t nth = 0;       // allocations since the last op mark
  NameId ops[kMaxOpDepth] = {};
  std::uint8_t scopes[kMaxOpDepth] = {};
  Charges* charges = nullptr;  // while a slow tier is emulated; static TLS is scarce
};

struct Counters {
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> frees{0};          // of tensors we know
  std::atomic<std::uint64_t> foreign_frees{0};  // of storage that was allocated before us
  std::atomic<std::uint64_t> live_bytes{0};
  std::atomic<std::uint64_t> peak_bytes{0};
  std::atomic<std::uint64_t> unknown_operands{0};  // storage that never came through the hook
};

// How PyTorch's own allocator is reached, and what its flags ask for. Written once, by start().
struct TorchAllocator {
  void* (*allocate)(std::size_t) = nullptr;
  void (*release)(void*) = nullptr;
  const bool* zero_fill = nullptr;  // FLAGS_caffe2_cpu_allocator_do_zero_fill, null if absent
  const bool* junk_fill = nullptr;
  const bool* numa = nullptr;
  bool huge_pages = false;  // THP_MEM_ALLOC_ENABLE=1, and this PyTorch knows it
};

// Something asked for or normal that is not to be had here; told once, and kept for the report.
struct Degradation {
  char what[32] = {};
  char cause[256] = {};
  char cure[192] = {};
};
constexpr std::uint32_t kMaxDegradations = 16;

// Why an iteration is profiled: alike to the ones before; alike in its ops; one of several shapes that take turns;
// nothing ever repeats; HEARTH_PROFILE_AT.
enum class Chosen : std::uint8_t { alike, alike_in_ops, recurring, regardless, asked };

// The iteration that the report's profile is of. A later one may be open, or was thrown away.
struct ProfileMade {
  std::uint64_t number = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t events = 0, dropped = 0;
};

struct ProfileRun {
  std::uint64_t number = 0;  // iteration
  std::uint64_t begin_ns = 0;
  ProfileMade made{};
  std::uint64_t normal_ns = 0;    // of the last two unprofiled iterations before it, the quicker
  std::uint64_t fault_ns = 0;     // measured cost of one protection fault here
  std::uint64_t conclude_ns = 0;  // building the profile and writing the report
  std::uint32_t attempts = 0;
  std::uint32_t completed = 0;
  Chosen chosen = Chosen::alike;
  std::uint64_t last_ops = 0;      // signature of the last iteration's ops
  std::uint32_t alike_in_ops = 0;  // iterations in a row with it
  std::uint64_t since_source = 0;  // iterations whose ends were found in the same way, in a row
  iteration::Source source = iteration::Source::none;
};

struct Runtime {
  std::atomic<Mode> mode{Mode::bootstrap};
  std::atomic<Phase> phase{Phase::observe};
  std::atomic<std::uint32_t> main_thread{0};     // Thread::number
  std::atomic<std::uint32_t> requested_main{0};  // a thread that steps asks to become main
  std::atomic<std::uint32_t> threads{0};
  std::atomic<bool> stepped{false};         // an optimizer's step or a mark chose the main thread
  std::atomic<std::uint64_t> iteration{0};  // number of the open iteration

  config::Knobs knobs{};
  config::KnobOrigins knob_origins{};
  TorchAllocator torch{};
  Counters counters{};
  registry::Registry registry{};
  arena::PageHeap heap{};
  trace::NameTable names{};
  trace::EventLog log{};
  iteration::Detector detector{};
  Managed managed{};
  Tiers tiers{};
  Residence residence{};
  Trials trials{};
  Planner planner{};
  Waits waits{};
  Lateness lateness{};
  OpTimes op_times{};

  hearth_adapter adapter{};
  bool adapter_attached = false;
  char adapter_path[768] = {};
  char adapter_absent[256] = {};  // why
  char torch_version[64] = {};
  HookStatus hook_status = HookStatus::unknown;
  Degradation degradations[kMaxDegradations] = {};
  std::uint32_t degradation_count = 0;
  std::uint32_t level = HEARTH_LEVEL_OFF;
  std::size_t min_bytes = 0;
  bool heap_ready = false;
  bool log_ready = false;
  bool modules_watched = false;

  ProfileRun profile{};
  const char* perf_status = "off";
  std::uint64_t perf_samples = 0;
  std::uint64_t durations_ns[kDurations] = {};
  std::uint32_t duration_count = 0;
  std::uint64_t refreshed_ns = 0;  // when the report was last rewritten between iterations
  std::uint64_t opened_ns = 0;     // when the open iteration began
  std::uint32_t owner_pid = 0;
  bool forked = false;  // this is a child; set in the child
  std::atomic<bool> finished{false};
  std::uint64_t start_ns = 0;
};

extern constinit Runtime g;
extern thread_local constinit Thread t_thread;

// This thread's number, given on first use.
std::uint32_t thread_number();
inline bool on_main_thread() {
  return t_thread.number != 0 && t_thread.number == g.main_thread.load(std::memory_order_relaxed);
}
inline bool profiling() { return g.phase.load(std::memory_order_relaxed) == Phase::profile; }
inline bool managing() { return g.phase.load(std::memory_order_relaxed) == Phase::managed; }
// The innermost open op of this thread, none outside any.
inline NameId innermost_op() {
  const Thread& t = t_thread;
  if (t.depth == 0) return {};
  return t.ops[(t.depth < kMaxOpDepth ? t.depth : kMaxOpDepth) - 1];
}

}  // namespace hearth::runtime
