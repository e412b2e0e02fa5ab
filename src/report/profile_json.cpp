#include "report/profile_json.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "profile/agreement.h"
#include "profile/classes.h"
#include "profile/op_kinds.h"

namespace hearth::report {
namespace {

using profile::Profile;

std::int64_t op_index(std::uint32_t op) {
  switch (op) {
    case profile::kBefore:
      return kJsonBefore;
    case profile::kAfter:
      return kJsonAfter;
    case profile::kOutside:
      return kJsonOutside;
    case profile::kNone:
      return kJsonNone;
    default:
      return op;
  }
}

void write_columns(JsonWriter& json, std::initializer_list<const char*> names) {
  json.key("columns").begin_array();
  for (const char* name : names) json.value(name);
  json.end_array();
}

// Largest first decide who is in; those in keep their order of birth.
std::vector<bool> chosen_tensors(const Profile& profile, std::size_t limit) {
  std::vector<bool> chosen(profile.tensors.size(), profile.tensors.size() <= limit);
  if (profile.tensors.size() <= limit) return chosen;
  std::vector<std::uint32_t> order(profile.tensors.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto larger = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t bytes_a = profile.tensors[a].bytes, bytes_b = profile.tensors[b].bytes;
    return bytes_a != bytes_b ? bytes_a > bytes_b : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(limit), order.end(), larger);
  for (std::size_t i = 0; i < limit; ++i) chosen[order[i]] = true;
  return chosen;
}

void write_tensor(JsonWriter& json, const Profile& profile, const profile::Tensor& tensor) {
  json.begin_array();
  json.value(tensor.serial).value(tensor.bytes);
  json.value(profile::lifetime_name(tensor.lifetime)).value(std::uint32_t{tensor.frequency});
  json.value(op_index(tensor.born)).value(op_index(profile::making_op(profile, tensor)));
  json.value(op_index(tensor.dies));
  json.value(tensor.born_position).value(tensor.dies_position);
  json.value(tensor.born_ns).value(tensor.dies_ns);
  json.value(tensor.nth).value(tensor.producer).value(tensor.module);
  json.value(tensor.own_pages).value(tensor.scratch).value(static_cast<std::uint32_t>(tensor.watch));
  json.value(tensor.sampled_pages);
  json.value(profile::touches_per_byte(tensor));
  json.begin_array();
  for (const profile::Access& access : tensor.accesses) {
    json.begin_array();
    json.value(op_index(access.op)).value(static_cast<std::uint32_t>(access.operand));
    json.value(static_cast<std::uint32_t>(access.fault)).value(access.bytes).value(access.faults);
    json.value(access.pages).value(access.samples).value(std::uint32_t{access.flags});
    json.end_array();
  }
  json.end_array().end_array();
}

void write_tensors(JsonWriter& json, const Profile& profile, std::size_t limit) {
  const std::vector<bool> chosen = chosen_tensors(profile, limit);
  std::uint64_t omitted = 0, omitted_bytes = 0, omitted_accesses = 0;
  json.key("tensors").begin_object();
  write_columns(json, {"serial",     "bytes",   "lifetime",      "frequency",        "born_op",
                       "made_by_op", "dies_op", "born_position", "dies_position",    "born_ns",
                       "dies_ns",    "nth",     "producer_name", "module_name",      "own_pages",
                       "scratch",    "watch",   "sampled_pages", "touches_per_byte", "accesses"});
  json.key("access_columns").begin_array();
  for (const char* name : {"op", "operand", "fault", "bytes", "faults", "pages", "samples", "flags"}) json.value(name);
  json.end_array();
  json.key("rows").begin_array();
  for (std::size_t i = 0; i < profile.tensors.size(); ++i) {
    if (chosen[i]) {
      json.newline();
      write_tensor(json, profile, profile.tensors[i]);
      continue;
    }
    ++omitted;
    omitted_bytes += profile.tensors[i].bytes;
    omitted_accesses += profile.tensors[i].accesses.size();
  }
  json.end_array();
  json.key("omitted").begin_object();
  json.member("tensors", omitted).member("bytes", omitted_bytes).member("accesses", omitted_accesses);
  json.end_object().end_object();
}

void write_ops(JsonWriter& json, const Profile& profile, std::size_t limit) {
  json.key("ops").begin_object();
  write_columns(json,
                {"name", "module", "parent", "thread", "scope", "sequence", "begin_ns", "duration_ns", "self_ns"});
  json.key("rows").begin_array();
  const std::size_t count = std::min(limit, profile.ops.size());
  for (std::size_t i = 0; i < count; ++i) {
    const profile::Op& op = profile.ops[i];
    if (i % 8 == 0) json.newline();
    json.begin_array();
    json.value(op.name).value(op.module).value(op_index(op.parent)).value(std::uint32_t{op.thread});
    json.value(std::uint32_t{op.scope}).value(op.sequence);
    json.value(op.begin_ns).value(op.end_ns - op.begin_ns).value(op.self_ns);
    json.end_array();
  }
  json.end_array();
  json.member("omitted", std::uint64_t{profile.ops.size() - count});
  json.end_object();
}

void write_classes(JsonWriter& json, const Profile& profile) {
  json.key("classes").begin_array();
  for (const profile::ClassSummary& each : profile::summarize(profile)) {
    json.begin_object();
    json.member("lifetime", profile::lifetime_name(each.lifetime));
    json.member("frequency", std::uint32_t{each.frequency});
    json.member("tensors", each.tensors);
    json.member("bytes", each.bytes);
    json.member("peak_bytes", each.peak_bytes);
    json.member("accesses", each.accesses);
    json.member("touched_bytes", each.touched_bytes);
    json.end_object();
  }
  json.end_array();
}

void write_timeline(JsonWriter& json, const Profile& profile) {
  json.key("timeline").begin_object();
  write_columns(json, {"time_ns", "live_bytes"});
  json.key("rows").begin_array();
  for (const profile::Point& point : profile.timeline) {
    json.begin_array().value(point.time_ns).value(point.live_bytes).end_array();
  }
  json.end_array().end_object();
}

void write_level(JsonWriter& json, const char* name, const profile::Level& level) {
  json.key(name).begin_object();
  json.member("confirmed_faults", level.confirmed_faults);
  json.member("confirmed_operands", level.confirmed_operands);
  json.member("faults_only", level.faults_only);
  json.member("operands_only", level.operands_only);
  json.member("faults_only_by_design", level.faults_only_by_design);
  json.member("operands_only_by_design", level.operands_only_by_design);
  json.member("precision", level.precision()).member("recall", level.recall());
  json.member("raw_precision", level.precision(true)).member("raw_recall", level.recall(true));
  json.end_object();
}

void write_reasons(JsonWriter& json, const profile::Agreement& agreement) {
  json.key("disagreements").begin_array();
  for (std::size_t i = 0; i < profile::kReasons; ++i) {
    const auto reason = static_cast<profile::Reason>(i);
    if (agreement.reasons[i].pairs == 0) continue;
    json.begin_object();
    json.member("reason", profile::reason_name(reason));
    json.member("text", profile::reason_text(reason));
    json.member("seen_by", reason <= profile::kLastFaultReason ? "faults" : "operands");
    json.member("by_design", profile::by_design(reason));
    json.member("pairs", agreement.reasons[i].pairs);
    json.member("bytes", agreement.reasons[i].bytes);
    json.end_object();
  }
  json.end_array();
  json.key("disagreeing_ops").begin_array();
  for (const profile::Example& each : agreement.examples) {
    json.begin_object();
    json.member("reason", profile::reason_name(each.reason));
    json.member("op_name", each.name).member("pairs", each.pairs).member("bytes", each.bytes);
    json.end_object();
  }
  json.end_array();
}

void write_agreement(JsonWriter& json, const Profile& profile) {
  const profile::Agreement agreement = profile::compare(profile);
  json.key("agreement");
  if (agreement.watched == 0) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("watched_tensors", agreement.watched);
  write_level(json, "innermost", agreement.innermost);
  write_level(json, "outermost", agreement.outermost);
  json.member("confirmed_in_the_op", agreement.confirmed_same_op);
  json.member("confirmed_in_a_nested_op", agreement.confirmed_nested);
  json.key("kinds").begin_object();
  json.member("same", agreement.kinds.same);
  json.member("read_hidden_by_write", agreement.kinds.read_hidden_by_write);
  json.member("read_before_write", agreement.kinds.read_before_write);
  json.member("write_missing", agreement.kinds.write_missing);
  json.member("write_unannounced", agreement.kinds.write_unannounced);
  json.end_object();
  write_reasons(json, agreement);
  json.end_object();
}

void write_summary(JsonWriter& json, const Profile& profile) {
  json.member("complete", profile.complete());
  json.key("anomalies").begin_object();
  json.member("dropped_events", profile.anomalies.dropped_events);
  json.member("unmatched_frees", profile.anomalies.unmatched_frees);
  json.member("unmatched_ends", profile.anomalies.unmatched_ends);
  json.member("unclosed_ops", profile.anomalies.unclosed_ops);
  json.member("unknown_tensors", profile.anomalies.unknown_tensors);
  json.member("duplicate_births", profile.anomalies.duplicate_births);
  json.end_object();
  json.member("duration_ns", profile.duration_ns);
  json.member("peak_bytes", profile.peak_bytes);
  json.member("peak_op", op_index(profile.peak_op));
  json.member("threads", profile.threads);
  json.key("thresholds").begin_object();
  json.member("short_ops", profile.thresholds.short_ops);
  json.member("frequency_base", profile.thresholds.frequency_base);
  json.member("frequency_buckets", profile.thresholds.frequency_buckets);
  json.end_object();
  const std::uint64_t total = profile.attributed_bytes + profile.outside_bytes;
  json.key("attribution").begin_object();
  json.member("in_ops_bytes", profile.attributed_bytes);
  json.member("outside_ops_bytes", profile.outside_bytes);
  json.member("total_bytes", total);
  json.key("in_ops_share").ratio(profile.attributed_bytes, total);
  json.end_object();
}

}  // namespace

void write_profile(JsonWriter& json, const Profile* profile, const Limits& limits) {
  json.key("profile");
  if (profile == nullptr) {
    json.null();
    return;
  }
  json.begin_object();
  write_summary(json, *profile);
  json.newline();
  write_classes(json, *profile);
  json.newline();
  write_agreement(json, *profile);
  json.newline();
  json.key("special_op_indices").begin_object();
  json.member("before", kJsonBefore).member("after", kJsonAfter);
  json.member("outside", kJsonOutside).member("none", kJsonNone).end_object();
  json.key("names").begin_array();
  for (const std::string& name : profile->names) json.value(std::string_view(name));
  json.end_array();
  json.newline();
  write_ops(json, *profile, limits.ops);
  json.newline();
  write_tensors(json, *profile, limits.tensors);
  json.newline();
  write_timeline(json, *profile);
  json.end_object();
}

}  // namespace hearth::report
