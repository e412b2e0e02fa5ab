#include "report/account_json.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "profile/classes.h"

namespace hearth::report {
namespace {

constexpr std::size_t kMoves = 4096;  // told about

void write_columns(JsonWriter& json, std::initializer_list<const char*> names) {
  for (const char* name : names) json.value(name);
}

constexpr std::initializer_list<const char*> kStakeColumns = {
    "bytes", "gain_ns", "possible_ns", "moved_bytes", "lane_ns", "fast_average_bytes", "fast_most_bytes", "windows"};

void write_stake(JsonWriter& json, const plan::Stake& stake) {
  json.value(stake.bytes).value(stake.gain_ns).value(stake.possible_ns).value(stake.moved_bytes).value(stake.lane_ns);
  json.value(stake.fast_average).value(stake.fast_most).begin_array();
  for (const plan::Window& window : stake.windows) {
    json.begin_array().value(window.from).value(window.to).end_array();
  }
  json.end_array();
}

void write_classes(JsonWriter& json, const plan::Account& account) {
  json.key("classes").begin_object();
  json.key("columns").begin_array();
  write_columns(json, {"lifetime", "frequency", "tensors"});
  write_columns(json, kStakeColumns);
  for (std::uint32_t i = 0; i < plan::kReasons; ++i) json.value(plan::reason_name(static_cast<plan::Reason>(i)));
  json.end_array().key("rows").begin_array();
  for (const plan::ClassAccount& each : account.classes) {
    json.begin_array();
    json.value(profile::lifetime_name(each.lifetime)).value(std::uint32_t{each.frequency}).value(each.tensors);
    write_stake(json, each.stake);
    for (const std::uint64_t bytes : each.bytes_by_reason) json.value(bytes);
    json.end_array();
  }
  json.end_array().end_object();
}

void write_tensors(JsonWriter& json, const plan::Account& account) {
  json.key("tensors").begin_object();
  json.key("columns").begin_array();
  write_columns(json, {"serial", "made_by", "module", "lifetime", "frequency", "reason", "uses", "fast_uses",
                       "first_stretch", "stretches"});
  write_columns(json, kStakeColumns);
  json.end_array().key("rows").begin_array();
  for (const plan::TensorAccount& each : account.tensors) {
    json.begin_array();
    json.value(each.serial).value(std::string_view(each.op)).value(std::string_view(each.module));
    json.value(profile::lifetime_name(each.lifetime)).value(std::uint32_t{each.frequency});
    json.value(plan::reason_name(each.reason)).value(each.uses).value(each.fast_uses);
    json.value(each.first_stretch).value(each.stretches);
    write_stake(json, each.stake);
    json.end_array();
  }
  json.end_array().end_object();
}

void write_timeline(JsonWriter& json, const plan::Account& account) {
  json.key("timeline").begin_object();
  json.key("columns").begin_array();
  write_columns(json, {"op", "time_ns"});
  for (std::uint32_t kind = 0; kind < plan::kFastKinds; ++kind) json.value(plan::fast_kind_name(kind));
  json.end_array().key("rows").begin_array();
  for (const plan::Moment& moment : account.timeline) {
    json.begin_array().value(moment.op).value(moment.ns);
    for (const std::uint64_t bytes : moment.fast) json.value(bytes);
    json.end_array();
  }
  json.end_array().end_object();
}

void write_planned_moves(JsonWriter& json, const plan::Residency& residency, const Punctuality* punctuality) {
  const std::size_t count = std::min(residency.moves.size(), kMoves);
  json.key("moves").begin_object();
  json.key("columns").begin_array();
  write_columns(json, {"stretch", "bytes", "to", "clean", "at", "due", "foreseen_ns", "wait", "asked", "late",
                       "late_ns", "latest_ns"});
  json.end_array().key("rows").begin_array();
  for (std::size_t i = 0; punctuality != nullptr && i < count; ++i) {
    const plan::Move& move = residency.moves[i];
    const Punctuality& went = punctuality[i];
    json.begin_array();
    json.value(move.stretch).value(residency.stretches[move.stretch].bytes);
    json.value(move.to == tier::Tier::fast ? "fast" : "slow").value(move.clean).value(move.at).value(move.due);
    json.value(move.ns).value(move.wait);
    for (const auto* figure : {&went.asked, &went.late, &went.late_ns, &went.latest_ns}) {
      json.value(figure->load(std::memory_order_relaxed));
    }
    json.end_array();
  }
  json.end_array();
  json.member("omitted", std::uint64_t{residency.moves.size() - (punctuality != nullptr ? count : 0)});
  json.end_object();
}

}  // namespace

void write_account(JsonWriter& json, const plan::Residency& residency, const Punctuality* moves) {
  json.key("account").begin_object();
  json.member("policy", std::string_view(residency.policy));
  json.member("ops", residency.ops);
  json.newline();
  write_classes(json, residency.account);
  json.newline();
  write_tensors(json, residency.account);
  json.newline();
  write_timeline(json, residency.account);
  json.newline();
  write_planned_moves(json, residency, moves);
  json.end_object();
  json.newline();
}

}  // namespace hearth::report
