#include "report/live_json.h"
#include "report/tier_json.h"

#include <algorithm>

namespace hearth::report {
namespace {

void write_iterations(JsonWriter& json, const LiveFacts& live) {
  json.key("iterations").begin_object();
  json.member("closed", live.iterations_closed);
  json.member("profiled", live.iterations_profiled);
  json.member("ends_found_by", live.detector_source);
  json.member("signatures_cached", live.signatures_cached);
  json.key("signatures").begin_array();
  for (std::uint32_t i = 0; i < std::min(live.signature_count, LiveFacts::kMaxSignatures); ++i) {
    const SignatureFact& each = live.signatures[i];
    json.begin_object();
    json.key("ops_hash").hex(each.ops);
    json.key("exact_hash").hex(each.exact);
    json.member("ops", each.op_count);
    json.member("allocations", each.allocation_count);
    json.member("times_seen", each.times_seen);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_profiled(JsonWriter& json, const ProfiledIteration& profiled) {
  json.key("profiled_iteration");
  if (!profiled.present) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("number", profiled.number);
  json.member("mode", profiled.mode);
  json.member("duration_ns", profiled.duration_ns);
  json.key("median_unprofiled_ns");
  if (profiled.median_unprofiled_ns > 0)
    json.value(profiled.median_unprofiled_ns);
  else
    json.null();
  json.key("slowdown").ratio(profiled.duration_ns, profiled.median_unprofiled_ns);
  json.key("fault_round_trip_ns");
  if (profiled.fault_ns > 0)
    json.value(profiled.fault_ns);
  else
    json.null();
  json.member("conclude_ns", profiled.conclude_ns);
  json.member("events", profiled.events);
  json.member("dropped_events", profiled.dropped_events);
  json.end_object();
}

void write_counters(JsonWriter& json, const LiveFacts& live) {
  json.key("counters").begin_object();
  json.member("allocations", live.allocations);
  json.member("frees", live.frees);
  json.member("live_tensors", live.live_tensors);
  json.member("live_bytes", live.live_bytes);
  json.member("peak_bytes", live.peak_bytes);
  json.member("foreign_frees", live.foreign_frees);
  json.member("unknown_operands", live.unknown_operands);
  json.member("untracked", live.untracked);
  json.member("hook_self_test", live.hook_self_test);
  json.end_object();
}

void write_heap(JsonWriter& json, const HeapFacts& heap) {
  json.key("heap").begin_object();
  json.member("reserved_bytes", heap.reserved_bytes);
  json.member("committed_bytes", heap.committed_bytes);
  json.member("live_bytes", heap.live_bytes);
  json.member("cached_bytes", heap.cached_bytes);
  json.member("returned_bytes", heap.returned_bytes);
  json.member("refused", heap.refused);
  json.end_object();
}

void write_plan(JsonWriter& json, const PlanFacts& plan) {
  json.key("plan").begin_object();
  json.member("present", plan.present);
  json.member("from_file", plan.from_file);
  json.member("plans", plan.plans);
  json.member("entries", plan.entries);
  json.member("planned", plan.planned);
  json.member("height_bytes", plan.height);
  json.member("lower_bound_bytes", plan.lower_bound);
  json.member("separation_bytes", plan.separation);
  json.member("grouping_bytes", plan.grouping);
  json.member("pack_ns", plan.pack_ns);
  json.member("iterations", plan.iterations);
  json.member("iterations_off", plan.iterations_off);
  json.member("left", plan.left);
  json.member("left_because", plan.left_because);
  json.member("moved", plan.moved);
  json.member("taken", plan.taken);
  json.member("left_to_heap", plan.by_plan);
  json.member("blocked", plan.blocked);
  json.member("lost", plan.lost);
  json.member("small", plan.small);
  json.member("live_bytes", plan.live_bytes);
  json.member("reserved_bytes", plan.reserved_bytes);
  json.member("bad_frees", plan.bad_frees);
  json.end_object();
}

void write_trials(JsonWriter& json, const TrialFacts& trials) {
  json.key("trials").begin_object();
  json.member("converged_at", trials.converged_at);
  json.member("autotm", autotm_name(trials.autotm));
  json.key("measured").begin_array();
  for (std::uint32_t i = 0; i < trials.count; ++i) {
    const TrialFacts::Row& row = trials.rows[i];
    json.begin_object();
    json.member("plan", trial_name(row.what));
    json.member("step_ns", row.step_ns);
    json.member("foreseen_ns", row.foreseen_ns);
    json.member("kept", row.kept);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_guard(JsonWriter& json, const LiveFacts& live) {
  const GuardFacts& guard = live.guard;
  json.key("guard").begin_object();
  json.member("faults", guard.faults);
  json.member("raced", guard.raced);
  json.member("foreign", guard.foreign);
  json.member("watched", guard.watched);
  json.member("unwatched_budget", guard.unwatched_budget);
  json.member("protect_failures", guard.protect_failures);
  json.member("kernel_io", guard.kernel_io);
  json.member("handler_stolen", guard.handler_stolen);
  json.end_object();
  json.key("perf").begin_object();
  json.member("status", live.perf_status);
  json.member("samples", live.perf_samples);
  json.end_object();
}

void write_degradations(JsonWriter& json, const LiveFacts& live) {
  json.key("degradations").begin_array();
  for (std::uint32_t i = 0; i < std::min(live.degradation_count, LiveFacts::kMaxDegradations); ++i) {
    const Degradation& each = live.degradations[i];
    json.begin_object().member("what", each.what).member("cause", each.cause).member("cure", each.cure).end_object();
  }
  json.end_array();
}

}  // namespace

const char* state_name(int state) {
  switch (state) {
    case HEARTH_STATE_BOOTSTRAP:
      return "bootstrap";
    case HEARTH_STATE_OBSERVE:
      return "observe";
    case HEARTH_STATE_PROFILE:
      return "profile";
    case HEARTH_STATE_PLAN:
      return "plan";
    case HEARTH_STATE_MANAGED:
      return "managed";
    case HEARTH_STATE_DISABLED:
      return "disabled";
    case HEARTH_STATE_FORWARDING:
      return "forwarding";
    default:
      return "unknown";
  }
}

const char* trial_name(TrialFacts::What what) {
  switch (what) {
    case TrialFacts::What::planned:
      return "as profiled";
    case TrialFacts::What::as_measured:
      return "as measured";
    case TrialFacts::What::slower_moves:
      return "slower moves";
    case TrialFacts::What::planned_again:
      return "as before";
    case TrialFacts::What::autotm:
      return "autotm";
    case TrialFacts::What::no_plan:
      break;
  }
  return "no plan";
}

const char* autotm_name(TrialFacts::Autotm state) {
  switch (state) {
    case TrialFacts::Autotm::solving:
      return "solving";
    case TrialFacts::Autotm::arrived:
      return "arrived";
    case TrialFacts::Autotm::no_better:
      return "no better";
    case TrialFacts::Autotm::failed:
      return "failed";
    case TrialFacts::Autotm::off:
      break;
  }
  return "off";
}

void write_live(JsonWriter& json, const LiveFacts& live) {
  json.member("state", state_name(live.state));
  json.key("written").begin_object();
  json.member("because", live.written_because);
  json.member("unix_ns", live.written_unix_ns);
  json.member("wall_ns", live.wall_ns);
  json.end_object();
  write_iterations(json, live);
  write_profiled(json, live.profiled);
  write_counters(json, live);
  write_heap(json, live.heap);
  write_plan(json, live.plan);
  write_trials(json, live.trials);
  write_tiers(json, live.tiers);
  write_guard(json, live);
  write_degradations(json, live);
}

}  // namespace hearth::report
