#include "runtime/facts.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "access/guard.h"
#include "base/text.h"
#include "plan/sequence.h"
#include "platform/os_clock.h"
#include "platform/os_process.h"
#include "report/session.h"
#include "runtime/planner.h"
#include "runtime/query.h"
#include "runtime/runtime.h"
#include "runtime/state.h"
#include "runtime/tier_facts.h"

namespace hearth::runtime {
namespace {

constinit std::atomic<report::Session*> session{nullptr};

const char* source_name(iteration::Source source) {
  switch (source) {
    case iteration::Source::period:
      return "period";
    case iteration::Source::optimizer:
      return "optimizer";
    case iteration::Source::marks:
      return "marks";
    case iteration::Source::none:
      break;
  }
  return "none";
}

const char* mode_name(config::ProfileMode mode) {
  switch (mode) {
    case config::ProfileMode::ops:
      return "ops";
    case config::ProfileMode::faults:
      return "faults";
    case config::ProfileMode::pages:
      return "pages";
    case config::ProfileMode::off:
      break;
  }
  return "off";
}

const char* hook_name(HookStatus status) {
  switch (status) {
    case HookStatus::interposed:
      return "passed: storage comes through c10::alloc_cpu";
    case HookStatus::registered_allocator:
      return "passed: through a registered c10::Allocator";
    case HookStatus::none:
      return "failed: storage does not come through";
    case HookStatus::switched_off:
      return "not run: HEARTH_ENABLE=0";
    case HookStatus::unknown:
      break;
  }
  return "not run: no adapter";
}

void take_counters(report::LiveFacts& live) {
  hearth_counters counters{};
  counters.struct_size = sizeof counters;
  get_counters(&counters);
  live.allocations = counters.allocations;
  live.frees = counters.frees;
  live.live_tensors = counters.live_tensors;
  live.live_bytes = counters.live_bytes;
  live.peak_bytes = counters.peak_bytes;
  live.foreign_frees = g.counters.foreign_frees.load(std::memory_order_relaxed);
  live.unknown_operands = g.counters.unknown_operands.load(std::memory_order_relaxed);
  live.untracked = g.registry.untracked();
  const arena::HeapStats heap = g.heap.stats();
  live.heap = {heap.reserved_bytes, heap.committed_bytes, heap.live_bytes,
               heap.cached_bytes,   heap.returned_bytes,  heap.refused};
  const access::GuardStats guard = access::stats();
  live.guard = {guard.faults,           guard.raced,     guard.foreign,       guard.watched, guard.unwatched_budget,
                guard.protect_failures, guard.kernel_io, guard.handler_stolen};
}

void take_iterations(report::LiveFacts& live) {
  live.detector_source = source_name(g.detector.source());
  live.iterations_closed = g.iteration.load(std::memory_order_relaxed);
  live.iterations_profiled = g.profile.completed;
  live.signatures_cached = g.detector.signatures_cached();
  const std::uint32_t count = std::min(live.signatures_cached, report::LiveFacts::kMaxSignatures);
  for (std::uint32_t i = 0; i < count; ++i) {
    const iteration::SignatureCache::Entry& entry = g.detector.cached(i);
    live.signatures[i] = {entry.signature.ops, entry.signature.exact, entry.signature.op_count,
                          entry.signature.allocation_count, entry.times_seen};
  }
  live.signature_count = count;
}

void take_profile(report::LiveFacts& live) {
  const ProfileRun& run = g.profile;
  live.profiled.present = run.completed > 0;
  live.profiled.number = run.made.number;
  live.profiled.elastic = run.chosen == Chosen::alike_in_ops;
  live.profiled.mode = mode_name(g.knobs.profile);
  live.profiled.duration_ns = run.made.duration_ns;
  live.profiled.median_unprofiled_ns = median_duration();
  live.profiled.fault_ns = run.fault_ns;
  live.profiled.conclude_ns = run.conclude_ns;
  live.profiled.events = run.made.events;
  live.profiled.dropped_events = run.made.dropped;
}

void take_plan(report::LiveFacts& live) {
  const Managed& m = g.managed;
  const FollowedPlan* followed = m.plan;
  if (followed == nullptr) return;
  const plan::Sequence& sequence = *followed->sequence;
  report::PlanFacts& plan = live.plan;
  plan.present = true;
  plan.from_file = sequence.pack_ns == 0;
  plan.plans = plans_followed();
  plan.entries = sequence.sizes.size();
  plan.planned = sequence.planned;
  for (const plan::Arena& arena : sequence.plan.arenas) plan.height += arena.bytes;
  plan.lower_bound = sequence.plan.costs.lower_bound;
  plan.separation = sequence.plan.costs.separation;
  plan.grouping = sequence.plan.costs.grouping;
  plan.pack_ns = sequence.pack_ns;
  plan.iterations = m.iterations;
  plan.iterations_off = m.iterations_off;
  plan.left = m.left;
  plan.left_because = m.left_because;
  plan.moved = m.moved;
  plan.taken = m.taken.get();
  plan.by_plan = m.by_plan.get();
  plan.blocked = m.blocked.get();
  plan.lost = m.lost.get();
  plan.small = m.small.get();
  plan.live_bytes = planned_live_bytes();
  const arena::PackedArena* arena = m.arena.load(std::memory_order_relaxed);
  plan.reserved_bytes = arena != nullptr ? arena->reserved() : 0;
  plan.bad_frees = m.bad_frees.load(std::memory_order_relaxed);
}

// Async-signal-safe: fills a plain value.
report::LiveFacts live_facts(const char* because) {
  report::LiveFacts live{};
  live.state = public_state();
  live.written_because = because;
  live.written_unix_ns = os::unix_ns();
  live.wall_ns = os::monotonic_ns() - g.start_ns;
  live.hook_self_test = hook_name(g.hook_status);
  take_counters(live);
  take_iterations(live);
  take_profile(live);
  take_plan(live);
  live.trials = g.trials.facts;
  live.tiers = tier_facts();
  live.perf_status = g.perf_status;
  live.perf_samples = g.perf_samples;
  for (std::uint32_t i = 0; i < g.degradation_count; ++i) {
    live.degradations[i] = {g.degradations[i].what, g.degradations[i].cause, g.degradations[i].cure};
  }
  live.degradation_count = g.degradation_count;
  return live;
}

// No profile at the end: the user asked for one and learns why there is none.
void explain_missing_profile() {
  if (g.knobs.profile == config::ProfileMode::off || g.profile.completed > 0 || !g.adapter_attached) return;
  if (g.profile.attempts > 0 && !g.log_ready) return;  // told when it happened
  if (g.managed.file_followed) {
    degrade("no profile", "the plan is from a file", "run without HEARTH_PLAN");
    return;
  }
  const std::uint64_t closed = g.iteration.load(std::memory_order_relaxed);
  text::Buffer<sizeof(Degradation::cause)> cause;
  if (closed == 0) {
    cause << "no iteration was recognised: no optimizer stepped and no period showed";
  } else if (g.knobs.profile_at > closed) {
    cause << "iteration " << g.knobs.profile_at << " (HEARTH_PROFILE_AT) was not reached; " << closed << " were";
  } else if (g.profile.attempts > (profiling() ? 1 : 0)) {
    cause << closed << " iterations ended; those that were profiled turned out unlike the ones before them";
  } else {
    cause << "only " << closed
          << " iterations ended; the first that repeats its predecessor is profiled, about the fourth";
  }
  degrade("no profile", cause.c_str(), "run longer, or mark the iterations (hearth.iteration() in Python)");
}

bool observed_here() { return !g.forked && os::process_id() == g.owner_pid; }

}  // namespace

bool degrade(const char* what, const char* cause, const char* cure) {
  Degradation fresh{};
  text::Writer(fresh.what, sizeof fresh.what) << what;
  text::Writer(fresh.cause, sizeof fresh.cause) << cause;
  text::Writer(fresh.cure, sizeof fresh.cure) << cure;
  for (std::uint32_t i = 0; i < g.degradation_count; ++i) {
    const Degradation& known = g.degradations[i];
    if (std::strcmp(known.what, fresh.what) == 0 && std::strcmp(known.cause, fresh.cause) == 0) return false;
  }
  if (g.degradation_count < kMaxDegradations) g.degradations[g.degradation_count++] = fresh;
  return true;
}

void open_outcome(const char* adapter_absent) {
  const report::SessionInputs inputs{
      &g.knobs, &g.knob_origins, &g.names, g.torch_version, g.adapter_attached ? g.adapter_path : "", adapter_absent};
  session.store(report::open_session(inputs), std::memory_order_release);
}

void conclude_profile() {
  if (report::Session* open = session.load(std::memory_order_acquire); open != nullptr) {
    report::conclude(*open, g.log.events(), live_facts("profile made"));
  }
}

const profile::Profile* made_profile() {
  const report::Session* open = session.load(std::memory_order_acquire);
  return open != nullptr ? report::made_profile(*open) : nullptr;
}

std::uint64_t median_duration() {
  std::uint64_t sorted[kDurations];
  const std::uint32_t count = std::min(g.duration_count, kDurations);
  if (count == 0) return 0;
  std::copy_n(g.durations_ns, count, sorted);
  std::nth_element(sorted, sorted + count / 2, sorted + count);
  return sorted[count / 2];
}

int write_report(const char* path) {
  report::Session* open = session.load(std::memory_order_acquire);
  if (open == nullptr || !observed_here()) return ENOENT;
  if (path == nullptr) return report::publish(*open, live_facts("API"));
  return report::publish_to(*open, live_facts("API"), path);
}

bool write_events(std::uint64_t iteration, config::ProfileMode mode, const char* path) {
  report::Session* open = session.load(std::memory_order_acquire);
  return open != nullptr && observed_here() &&
         report::write_events(*open, g.log.events(), g.log.dropped(), iteration, mode_name(mode), path);
}

bool report_wanted() {
  const report::Session* open = session.load(std::memory_order_acquire);
  return open != nullptr && report::wants_report(*open);
}

void refresh_report(std::uint64_t now_ns) {
  constexpr std::uint64_t kEveryNs = 10'000'000'000;
  report::Session* open = session.load(std::memory_order_acquire);
  if (open == nullptr || !report::wants_report(*open) || now_ns - g.refreshed_ns < kEveryNs) return;
  if (g.refreshed_ns != 0 && observed_here()) report::publish(*open, live_facts("every ten seconds"));
  g.refreshed_ns = now_ns;
}

void write_report_from_signal() {
  report::Session* open = session.load(std::memory_order_acquire);
  if (open != nullptr && observed_here()) report::publish(*open, live_facts("signal"));
}

void finish() {
  report::Session* open = session.load(std::memory_order_acquire);
  if (open == nullptr || !observed_here() || g.finished.exchange(true)) return;
  access::stop();
  if (g.detector.take_retraction()) {
    degrade("profile", "the profiled iteration turned out to be a part of a longer one, and none followed",
            "let the program run longer, or mark its iterations (hearth.iteration())");
  }
  explain_missing_profile();
  planner_end();
  report::finish(*open, live_facts("exit"));
}

}  // namespace hearth::runtime
