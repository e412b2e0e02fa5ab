// The tiers' part of the report. Async-signal-safe, as all of live_json.cpp.
#include "report/tier_json.h"

#include "report/account_json.h"

namespace hearth::report {
namespace {

void write_moves(JsonWriter& json, std::string_view name, const MoveFacts& moves) {
  json.key(name).begin_object();
  json.member("requests", moves.requests);
  json.member("bytes", moves.bytes);
  json.member("busy_ns", moves.busy_ns);
  json.member("by", moves.by);
  json.end_object();
}

void write_lists(JsonWriter& json, const ListFacts& lists) {
  json.key("lists").begin_object();
  json.member("active_bytes", lists.active);
  json.member("inactive_bytes", lists.inactive);
  json.member("accesses", lists.accesses);
  json.member("activated", lists.activated);
  json.member("deactivated", lists.deactivated);
  json.member("promotions", lists.promotions);
  json.member("demotions", lists.demotions);
  json.member("held_back", lists.held_back);
  json.end_object();
}

void write_foreseen(JsonWriter& json, const ForeseenFacts& foreseen) {
  json.key("foreseen").begin_object();
  json.member("step_ns", foreseen.step_ns);
  json.member("all_fast_ns", foreseen.all_fast_ns);
  json.member("all_slow_ns", foreseen.all_slow_ns);
  json.member("stall_ns", foreseen.stall_ns);
  json.member("fast_peak_bytes", foreseen.fast_peak);
  json.member("fast_average_bytes", foreseen.fast_average);
  json.end_object();
}

void write_steady(JsonWriter& json, const SteadyFacts& steady) {
  json.key("steady").begin_object();
  json.member("iterations", steady.iterations);
  json.member("duration_ns", steady.duration_ns);
  json.member("fast_average_bytes", steady.fast_average);
  json.member("to_fast_bytes", steady.to_fast);
  json.member("to_slow_bytes", steady.to_slow);
  json.member("waited_ns", steady.waited_ns);
  json.member("charged_ns", steady.charged_ns);
  json.member("slow_bytes_used", steady.slow_bytes_used);
  json.member("moves", steady.moves);
  json.member("late", steady.late);
  json.member("late_ns", steady.late_ns);
  json.member("waits_tried", steady.waits_tried);
  json.member("waits_worth", steady.waits_worth);
  json.end_object();
}

}  // namespace

void write_tiers(JsonWriter& json, const TierFacts& tiers) {
  json.key("tiers").begin_object();
  json.member("present", tiers.present);
  if (tiers.present) {
    json.member("backend", tiers.backend);
    json.member("how", tiers.how);
    json.member("policy", tiers.policy);
    json.member("fast_capacity_bytes", tiers.capacity);
    json.member("fast_bytes", tiers.fast_bytes);
    json.member("slow_bytes", tiers.slow_bytes);
    json.member("fast_peak_bytes", tiers.fast_peak);
    json.member("unbound_bytes", tiers.unbound_bytes);
    json.member("pages_checked", tiers.pages_checked);
    json.member("pages_as_booked", tiers.pages_as_booked);
    write_moves(json, "to_fast", tiers.to_fast);
    write_moves(json, "to_slow", tiers.to_slow);
    json.member("dropped_clean_bytes", tiers.dropped_clean);
    json.key("not_moved").begin_object();
    json.member("bytes", tiers.failed_bytes);
    json.member("busy", tiers.busy);
    json.member("no_memory", tiers.no_memory);
    json.member("forbidden", tiers.forbidden);
    json.member("absent_node", tiers.absent_node);
    json.member("other", tiers.other);
    json.end_object();
    json.member("calls", tiers.calls);
    json.member("retries", tiers.retries);
    json.member("full", tiers.full);
    json.member("cancelled", tiers.cancelled);
    json.member("refused", tiers.refused);
    json.member("late", tiers.late);
    json.member("latest_ns", tiers.latest_ns);
    if (tiers.by_access) write_lists(json, tiers.lists);
    if (tiers.foreseen.present) write_foreseen(json, tiers.foreseen);
    write_steady(json, tiers.steady);
    if (tiers.residency != nullptr) write_account(json, *tiers.residency, tiers.moves);
    json.key("emulation").begin_object();
    json.member("charges", tiers.charges);
    json.member("charged_ns", tiers.charged_ns);
    json.member("overshoot_ns", tiers.overshoot_ns);
    json.member("slow_bytes_used", tiers.slow_bytes_used);
    json.end_object();
  }
  json.end_object();
}

}  // namespace hearth::report
