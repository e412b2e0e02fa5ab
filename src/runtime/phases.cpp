#include "runtime/phases.h"

#include <algorithm>

#include "access/guard.h"
#include "base/log.h"
#include "base/text.h"
#include "platform/os_clock.h"
#include "runtime/choice.h"
#include "runtime/facts.h"
#include "runtime/op_times.h"
#include "runtime/perf.h"
#include "runtime/planner.h"
#include "runtime/start.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

void remember_duration(std::uint64_t duration_ns) {
  g.durations_ns[g.duration_count % kDurations] = duration_ns;
  ++g.duration_count;
}

// For slow memory, in one way or the other.
std::uint64_t charged_so_far() { return g.tiers.charged_ns.load(std::memory_order_relaxed) + g.residence.waited_ns; }

// `own_ns`: as long as it would have taken with everything fast.
StepTime step_time(std::uint64_t now_ns) {
  if (g.opened_ns == 0) return {};
  const std::uint64_t ns = now_ns - g.opened_ns;
  return {ns, ns - std::min(charged_so_far() - g.tiers.charged_before_ns, ns)};
}

// The first iterations of a loop take longer, or far longer, than all that come: what is alike are the last ones.
std::uint64_t usual_duration() {
  const std::uint32_t count = g.duration_count;
  if (count == 0) return 0;
  const std::uint64_t last = g.durations_ns[(count - 1) % kDurations];
  return count == 1 ? last : std::min(last, g.durations_ns[(count - 2) % kDurations]);
}

// One unit of a move takes far less.
constexpr std::uint64_t kMoversStopNs = 10'000'000'000;

bool guarded_mode() {
  return g.knobs.profile == config::ProfileMode::faults || g.knobs.profile == config::ProfileMode::pages;
}

// Runs in the fault handler, on any thread.
void fault_sink(TensorSlot slot, std::uint32_t page, hearth_access access) {
  hearth_event event{};
  event.type = HEARTH_EVENT_FAULT;
  event.tensor = g.registry.at(slot).serial.value;
  event.page = page;
  event.access = static_cast<std::uint8_t>(access);
  log_event(event);
}

void watch(TensorSlot slot) {
  hearth_watch how = HEARTH_WATCH_NONE;
  std::uint32_t pages = 0;
  if (!access::watch(slot, &how, &pages)) return;
  hearth_event event{};
  event.type = HEARTH_EVENT_GUARD;
  event.tensor = g.registry.at(slot).serial.value;
  event.access = static_cast<std::uint8_t>(how);
  event.page = pages;
  log_event(event);
}

// Everything alive as the iteration begins: weights, optimizer state, what the user keeps.
void log_live_tensors() {
  const std::uint32_t limit = g.registry.slot_limit();
  for (std::uint32_t i = 1; i < limit; ++i) {
    const registry::Tensor& tensor = g.registry.at(TensorSlot{i});
    if (tensor.address.load(std::memory_order_acquire) == 0) continue;
    hearth_event event{};
    event.type = HEARTH_EVENT_LIVE;
    event.tensor = tensor.serial.value;
    event.bytes = tensor.bytes;
    event.name = tensor.op.value;
    event.flags = tensor.own_pages ? HEARTH_EVENT_FLAG_OWN_PAGES : 0;
    log_event(event);
  }
}

void watch_live_tensors() {
  const std::uint32_t limit = g.registry.slot_limit();
  for (std::uint32_t i = 1; i < limit; ++i) {
    const registry::Tensor& tensor = g.registry.at(TensorSlot{i});
    if (tensor.own_pages && tensor.address.load(std::memory_order_acquire) != 0) watch(TensorSlot{i});
  }
}

void start_guard() {
  if (g.profile.fault_ns == 0) g.profile.fault_ns = access::measure_fault_ns();
  access::GuardOptions options{};
  options.sample_pages = g.knobs.profile == config::ProfileMode::pages;
  options.sample_min_bytes = g.knobs.pages_min;
  options.samples_per_tensor = static_cast<std::uint32_t>(g.knobs.pages_samples);
  if (access::start(g.registry, options, fault_sink)) {
    watch_live_tensors();
  } else if (degrade("page faults", access::refusal(), "accesses are seen by the operands of ops only")) {
    log::warn(access::refusal(), "; accesses are seen by the operands of ops only");
  }
}

void begin_profile(std::uint64_t number) {
  ++g.profile.attempts;
  g.profile.number = number;
  g.profile.normal_ns = usual_duration();
  if (!g.log_ready && !(g.log_ready = g.log.init(g.knobs.events))) {
    degrade("profile", "no address space for the event log", "lower HEARTH_EVENTS or raise ulimit -v or -d");
    log::warn("no address space for the event log (HEARTH_EVENTS); running without a profile");
    give_up_profiling();
    return;
  }
  g.log.clear();
  log_open_ops();
  log_live_tensors();
  perf::open();
  // A mover that copies protected pages would fault, with its signals blocked.
  const bool nothing_moves = g.tiers.migrator.pause(kMoversStopNs);
  if (guarded_mode() && nothing_moves) start_guard();
  g.profile.begin_ns = os::monotonic_ns();
  g.phase.store(Phase::profile, std::memory_order_release);
}

void tell_stolen_handler() {
  constexpr const char* kCause = "another library took the SIGSEGV handler during the profiled iteration";
  constexpr const char* kCure = "from then on accesses were seen by operands only; HEARTH_PROFILE=ops avoids the clash";
  if (degrade("page faults", kCause, kCure)) log::warn(kCause, "; ", kCure);
}

void tell_dropped_events() {
  if (g.log.dropped() == 0) return;
  text::Buffer<sizeof(Degradation::cause)> cause;
  cause << g.log.dropped() << " events did not fit the log of the profiled iteration; the profile is incomplete";
  degrade("profile", cause.c_str(), "raise HEARTH_EVENTS");
}

void end_profile(const iteration::Closed& closed, std::uint64_t now_ns) {
  perf::close();
  access::stop();
  g.tiers.migrator.resume();
  if (access::stats().handler_stolen) tell_stolen_handler();
  g.phase.store(Phase::observe, std::memory_order_release);
  if (!as_expected(closed)) return;
  g.profile.made = {g.profile.number, now_ns - g.profile.begin_ns, g.log.events().size(), g.log.dropped()};
  ++g.profile.completed;
  tell_dropped_events();
  conclude_profile();
  adopt_profile(closed);
  g.log.discard();
  g.profile.conclude_ns = os::monotonic_ns() - now_ns;
}

}  // namespace

void log_event(hearth_event event) {
  event.time_ns = os::monotonic_ns();
  event.thread = on_main_thread() ? std::uint16_t{0} : static_cast<std::uint16_t>(t_thread.number);
  if (event.thread == 0 && !on_main_thread()) event.thread = UINT16_MAX;  // a worker that never ran an op of its own
  g.log.append(event);
}

void log_open_ops() {
  const Thread& thread = t_thread;
  for (std::uint32_t i = 0; i < thread.depth && i < kMaxOpDepth; ++i) {
    hearth_event event{};
    event.type = HEARTH_EVENT_OP_BEGIN;
    event.name = thread.ops[i].value;
    event.scope = thread.scopes[i];
    event.value = -1;
    log_event(event);
  }
}

void note_allocation(TensorSlot slot, std::uint64_t bytes, bool own_pages) {
  if (!slot) return;
  hearth_event event{};
  event.type = HEARTH_EVENT_ALLOC;
  event.tensor = g.registry.at(slot).serial.value;
  event.bytes = bytes;
  event.flags = own_pages ? HEARTH_EVENT_FLAG_OWN_PAGES : 0;
  log_event(event);
  if (own_pages && access::active()) watch(slot);
}

void note_free(TensorSlot slot) {
  hearth_event event{};
  event.type = HEARTH_EVENT_FREE;
  event.tensor = g.registry.at(slot).serial.value;
  log_event(event);
}

void apply_level() {
  if (!g.adapter_attached) return;
  std::uint32_t level = HEARTH_LEVEL_STEPS;
  if (profiling() || g.tiers.emulating || g.tiers.by_access) {
    level = HEARTH_LEVEL_OPERANDS;
  } else if (g.op_times.open) {
    level = HEARTH_LEVEL_MARKS;
  } else if (managing()) {
    // Allocations alone tell where in its plan the program is, but for pages that move between them.
    const bool told_by_ops = g.detector.source() > iteration::Source::period && g.detector.needs_ops();
    level = told_by_ops || g.residence.moves() ? HEARTH_LEVEL_MARKS : HEARTH_LEVEL_STEPS;
  } else if (profile_pending() || g.detector.needs_ops()) {
    level = HEARTH_LEVEL_MARKS;
  }
  if (level == g.level) return;
  if (g.adapter.set_level(level) == 0) g.level = level;
}

void watch_modules() {
  if (!g.knobs.modules || g.modules_watched || !g.adapter_attached) return;
  g.modules_watched = g.adapter.watch_modules(1) == 0;
}

void iteration_closed() {
  const std::uint64_t now_ns = os::monotonic_ns();
  const iteration::Closed& closed = g.detector.closed();
  close_op_times(closed.number);
  if (g.detector.take_retraction()) {
    // What was profiled was a part of the true iteration: start over.
    g.profile.completed = 0;
    g.duration_count = 0;
    forget_plans();
  }
  count_shape(closed);
  const StepTime step = step_time(now_ns);
  if (!profiling()) steady_iteration_closed();
  if (managing()) {
    managed_iteration_closed(step, closed);
  } else {
    trials_step(step.ns, step.own_ns, false);
  }
  planner_look(now_ns);
  discard_idle_arena();
  if (profiling()) {
    end_profile(closed, now_ns);
  } else if (g.opened_ns != 0) {
    remember_duration(step.own_ns);
  }
  g.iteration.store(closed.number + 1, std::memory_order_relaxed);
  t_thread.op_index = 0;
  watch_modules();
  adopt_file();
  resume_managed(closed);
  if (time_to_profile(closed)) begin_profile(closed.number + 1);
  open_op_times();
  apply_level();
  if (!profiling()) refresh_report(now_ns);
  g.opened_ns = os::monotonic_ns();
  g.tiers.charged_before_ns = charged_so_far();
}

}  // namespace hearth::runtime
