// RunFacts: everything the report says beside the profile. Plain data, filled by the runtime, read by report/json.h and
// report/text.h; the report asks nobody else.
//
// Split in two: what is fixed once the profile exists (strings, copied into the prepared report), and LiveFacts, which
// change until the end. LiveFacts hold no memory of their own, so that a signal handler can fill and print them:
// every `const char*` must point to text that lives for the rest of the process (null counts as "").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/hearth.h"
#include "report/tier_facts.h"

namespace hearth::report {

struct SignatureFact {
  std::uint64_t ops = 0, exact = 0;
  std::uint32_t op_count = 0, allocation_count = 0, times_seen = 0;
};

struct Degradation {
  const char* what = nullptr;   // "page faults are not watched"
  const char* cause = nullptr;  // "mprotect: ENOMEM"
  const char* cure = nullptr;   // "raise vm.max_map_count"
};

struct HeapFacts {
  std::uint64_t reserved_bytes = 0, committed_bytes = 0, live_bytes = 0, cached_bytes = 0, returned_bytes = 0;
  std::uint64_t refused = 0;
};

struct GuardFacts {
  std::uint64_t faults = 0, raced = 0, foreign = 0, watched = 0, unwatched_budget = 0, protect_failures = 0;
  std::uint64_t kernel_io = 0;
  bool handler_stolen = false;
};

// How the plan is followed. Counts are of allocations by the thread that runs the iterations, since the first plan.
struct PlanFacts {
  bool present = false;
  bool from_file = false;
  std::uint64_t plans = 0, entries = 0, planned = 0;                        // the present plan's, but for the first
  std::uint64_t height = 0, lower_bound = 0, separation = 0, grouping = 0;  // bytes
  std::uint64_t pack_ns = 0;
  std::uint64_t iterations = 0, iterations_off = 0, left = 0, moved = 0;
  const char* left_because = "";  // the last time
  std::uint64_t taken = 0, by_plan = 0, blocked = 0, lost = 0, small = 0;
  std::uint64_t live_bytes = 0, reserved_bytes = 0, bad_frees = 0;
};

// Plans measured in real steps, and which of them stayed (runtime/trials.h).
struct TrialFacts {
  static constexpr std::uint32_t kRows = 6;

  enum class What : std::uint8_t { planned, as_measured, slower_moves, no_plan, planned_again, autotm };
  // HEARTH_AUTOTM: not asked for; solving; its plan is among the rows; none was found that is better than sentinel's;
  // there is none, and a degradation says why.
  enum class Autotm : std::uint8_t { off, solving, arrived, no_better, failed };
  struct Row {
    What what = What::planned;
    std::uint64_t step_ns = 0;      // median; 0 = being measured
    std::uint64_t foreseen_ns = 0;  // by the simulator; 0 = by nobody
    bool kept = false;              // the quickest so far
  };
  Row rows[kRows];
  std::uint32_t count = 0;
  std::uint64_t converged_at = 0;  // iteration; 0 = it has not
  Autotm autotm = Autotm::off;
};
const char* trial_name(TrialFacts::What what);
const char* autotm_name(TrialFacts::Autotm state);

struct ProfiledIteration {
  bool present = false;
  std::uint64_t number = 0;
  const char* mode = nullptr;  // ops, faults, pages
  std::uint64_t duration_ns = 0;
  std::uint64_t median_unprofiled_ns = 0;  // of the other iterations so far; 0 = none measured
  std::uint64_t fault_ns = 0;              // one protect-fault-open round trip on this machine; 0 = not measured
  std::uint64_t conclude_ns = 0;           // making the profile of it and writing trace and report
  std::uint64_t events = 0, dropped_events = 0;
  bool elastic = false;  // its sizes are other than those of the iterations before it
};

struct LiveFacts {
  static constexpr std::uint32_t kMaxSignatures = 64;
  static constexpr std::uint32_t kMaxDegradations = 16;

  int state = HEARTH_STATE_BOOTSTRAP;
  const char* written_because = nullptr;  // "exit", "SIGUSR2", "profile made", "API"
  std::uint64_t written_unix_ns = 0;
  std::uint64_t wall_ns = 0;  // since the runtime started

  const char* detector_source = nullptr;  // none, period, optimizer, marks
  std::uint64_t iterations_closed = 0;
  std::uint64_t iterations_profiled = 0;
  SignatureFact signatures[kMaxSignatures];
  std::uint32_t signature_count = 0;    // entries of `signatures`
  std::uint32_t signatures_cached = 0;  // may be more

  const char* hook_self_test = nullptr;  // "passed", "not run", "failed: ..."
  std::uint64_t allocations = 0, frees = 0, live_tensors = 0, live_bytes = 0, peak_bytes = 0;
  std::uint64_t foreign_frees = 0;     // of storage allocated before Hearth was there
  std::uint64_t unknown_operands = 0;  // announced storage that never came through the hook (numpy, files, shared)
  std::uint64_t untracked = 0;         // tensors that the registry had no room for
  HeapFacts heap;
  GuardFacts guard;
  const char* perf_status = nullptr;  // "off", "software faults", "refused: EACCES, ..."
  std::uint64_t perf_samples = 0;
  ProfiledIteration profiled;
  PlanFacts plan;
  TrialFacts trials;
  TierFacts tiers;

  Degradation degradations[kMaxDegradations];
  std::uint32_t degradation_count = 0;
};

struct KnobFact {
  std::string name, value, origin;  // origin: default, system file, user file, environment
};

struct RunFacts {
  std::string version = "0.1.0";
  std::uint64_t pid = 0;
  std::string host;
  std::string rank, local_rank, world_size;  // as the environment says; empty where unset
  std::string command;
  std::uint64_t start_unix_ns = 0;
  std::string torch_version;   // empty: no PyTorch seen
  std::string adapter;         // file; empty: absent
  std::string adapter_absent;  // why, if absent
  std::uint64_t min_size = 0;  // HEARTH_MIN_SIZE in force: smaller tensors are not alone on their pages
  std::vector<KnobFact> knobs;
  LiveFacts live;
};

}  // namespace hearth::report
