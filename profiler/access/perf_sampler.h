// PerfSampler: samples with addresses from Linux perf_event, besides the guard's faults.
//
//   page_faults  PERF_COUNT_SW_PAGE_FAULTS of every thread: first touches of fresh memory (and the guard's own faults,
//                which raise the same counter). Needs no hardware; allowed at perf_event_paranoid <= 2.
//   loads        precise load samples where the processor has them: Intel PEBS load latency (loads retired as a
//                fall-back), AMD instruction-based sampling (all memory operations: loads and stores).
//   stores       precise store samples: Intel PEBS. On AMD they come with `loads`.
//
// What the kernel refuses is a status, told once, never an error of the program.
//
// Thread-safety: open, attach_new_threads, poll and close from one thread at a time, not from signal handlers. No
// malloc, no thread of its own. A forked child must not use the descriptors: it calls abandon().
#pragma once

#include <cstddef>
#include <cstdint>

#include "hearth/trace.h"

namespace hearth::access {

enum class PerfEvent : std::uint8_t { page_faults, loads, stores };
constexpr std::size_t kPerfEvents = 3;

enum class PerfStatus : std::uint8_t {
  off,            // not asked for
  ok,             // on at least one thread
  no_pmu,         // this machine or virtual machine shows no such hardware
  not_permitted,  // EPERM, EACCES: kernel.perf_event_paranoid, seccomp, missing CAP_PERFMON
  not_in_kernel,  // ENOSYS: built without perf_event, or a sandbox hides it
  unsupported,    // the kernel does not know this event in this form
  no_resources    // too many descriptors, or no locked memory for the ring buffer (RLIMIT_MEMLOCK)
};

// One sentence for the user: cause and cure. "" for off and ok.
const char* explain(PerfStatus status);

struct PerfSample {
  std::uint64_t address;
  std::uint64_t time_ns;  // CLOCK_MONOTONIC, as in the trace
  std::uint32_t thread;   // kernel thread id
  PerfEvent event;
  hearth_access access;  // UNKNOWN for page faults: the event does not tell
};
using PerfSink = void (*)(const PerfSample& sample, void* context);

struct PerfOptions {
  bool page_faults = true;
  bool precise = true;                   // loads and stores
  std::uint32_t memory_period = 10'007;  // memory operations per sample; a prime, so as not to beat with loops
};

struct PerfStats {
  PerfStatus status[kPerfEvents] = {};  // by PerfEvent
  std::uint32_t threads = 0;            // with at least one event open
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;  // ring full, or throttled by the kernel
};

class PerfSampler {
 public:
  constexpr PerfSampler() = default;
  PerfSampler(const PerfSampler&) = delete;
  PerfSampler& operator=(const PerfSampler&) = delete;

  // Opens the events on all threads of the process. True if any event is ok; see stats().
  bool open(const PerfOptions& options);
  // Events are per thread: threads born since are added. Cheap when there are none; call at iteration boundaries.
  void attach_new_threads();
  // Hands every sample that has arrived to the sink.
  void poll(PerfSink sink, void* context);
  void close();
  // In the child of a fork: forgets the parent's events without touching them.
  void abandon() { count_ = 0; }
  const PerfStats& stats() const { return stats_; }

 private:
  static constexpr std::uint32_t kMaxThreads = 256;

  struct Source {
    std::int32_t thread;
    std::int32_t file;
    PerfEvent event;
    void* ring;  // perf_event_mmap_page and data
  };

  bool attached(std::int32_t thread) const;
  bool attach(std::int32_t thread, PerfEvent event);
  void drain(const Source& source, PerfSink sink, void* context);

  PerfOptions options_{};
  PerfStats stats_{};
  std::uint32_t count_ = 0;
  Source sources_[kMaxThreads * kPerfEvents]{};
};

}  // namespace hearth::access
