#include "report/text.h"

#include <algorithm>
#include <vector>

#include "profile/agreement.h"
#include "profile/classes.h"
#include "profile/op_kinds.h"
#include "report/layout.h"
#include "report/live_json.h"

namespace hearth::report {
namespace {

using profile::Profile;

constexpr std::size_t kWidth = 100;

std::string text_or(const char* text, const char* otherwise) {
  return text != nullptr && *text != '\0' ? text : otherwise;
}

double real(std::uint64_t number) { return static_cast<double>(number); }

void line(std::string& out, const std::string& text) {
  out += shortened(text, kWidth);
  out += '\n';
}

void write_head(std::string& out, const RunFacts& facts) {
  const LiveFacts& live = facts.live;
  line(out, "hearth " + facts.version + ": pid " + std::to_string(facts.pid) + ", " + facts.command);
  line(out, "  " + (facts.torch_version.empty() ? std::string("no PyTorch seen") : "PyTorch " + facts.torch_version) +
                ", state " + state_name(live.state) + ", " + count_text(live.iterations_closed) +
                " iterations (ends found by " + text_or(live.detector_source, "none") + "), " +
                count_text(live.iterations_profiled) + " profiled");
  if (facts.adapter.empty() && !facts.torch_version.empty()) {
    line(out, "  no adapter, so ops are unknown: " + facts.adapter_absent);
  }
  line(out, "  tensors: " + count_text(live.allocations) + " allocated, " + count_text(live.frees) + " freed, " +
                count_text(live.live_tensors) + " live (" + bytes_text(real(live.live_bytes)) + "), peak " +
                bytes_text(real(live.peak_bytes)));
  if (live.untracked > 0) line(out, "  " + count_text(live.untracked) + " tensors not tracked: the registry was full");
}

void write_profiled(std::string& out, const ProfiledIteration& profiled) {
  if (!profiled.present) return;
  std::string text = "  profiled iteration " + count_text(profiled.number) + " (mode " + text_or(profiled.mode, "?") +
                     "): " + time_text(real(profiled.duration_ns));
  if (profiled.median_unprofiled_ns > 0) {
    text += ", " + number_text(real(profiled.duration_ns) / real(profiled.median_unprofiled_ns), 2) + "x the usual " +
            time_text(real(profiled.median_unprofiled_ns));
  }
  line(out, text);
  if (profiled.fault_ns > 0)
    line(out, "  one caught fault costs " + time_text(real(profiled.fault_ns)) + " on this machine");
  if (profiled.dropped_events > 0) {
    line(out, "  INCOMPLETE: " + count_text(profiled.dropped_events) +
                  " events did not fit the log; set HEARTH_EVENTS higher");
  }
}

void write_tiers(std::string& out, const TierFacts& tiers) {
  if (!tiers.present) return;
  const std::string capacity = tiers.capacity == 0 ? "no limit" : bytes_text(real(tiers.capacity)) + " allowed";
  line(out, "  tiers: " + std::string(tiers.how) + "; policy " + tiers.policy);
  line(out, "  fast memory: " + bytes_text(real(tiers.fast_peak)) + " at most (" + capacity + "); now " +
                bytes_text(real(tiers.fast_bytes)) + " fast, " + bytes_text(real(tiers.slow_bytes)) + " slow");
  line(out, "  moved: " + bytes_text(real(tiers.to_fast.bytes)) + " to fast, " + bytes_text(real(tiers.to_slow.bytes)) +
                " to slow, " + bytes_text(real(tiers.failed_bytes)) + " could not move");
  if (tiers.charges != 0) {
    line(out, "  emulation: " + count_text(tiers.charges) + " ops waited " + time_text(real(tiers.charged_ns)) +
                  " for emulated memory, " + time_text(real(tiers.overshoot_ns)) + " too long");
  }
}

void write_plan(std::string& out, const PlanFacts& plan) {
  if (!plan.present) return;
  const double ratio = plan.lower_bound > 0 ? real(plan.height) / real(plan.lower_bound) : 1;
  line(out, "  plan: " + count_text(plan.planned) + " of " + count_text(plan.entries) + " tensors in " +
                bytes_text(real(plan.height)) + ", " + number_text(ratio, 3) + "x the least possible" +
                (plan.from_file ? std::string(", from a file") : ", made in " + time_text(real(plan.pack_ns))));
  line(out, "  managed: " + count_text(plan.iterations) + " iterations, " + count_text(plan.iterations_off) +
                " off the plan; tensors: " + count_text(plan.taken) + " in place, " + count_text(plan.by_plan) +
                " left to the heap, " + count_text(plan.blocked + plan.lost) + " unforeseen");
}

void write_classes(std::string& out, const Profile& profile) {
  Table table({{"class", Table::Align::left}, {"touches/byte"}, {"tensors"}, {"bytes"}, {"peak"}, {"accesses"}});
  constexpr std::size_t kMaxRows = 10;
  std::vector<profile::ClassSummary> classes = profile::summarize(profile);
  if (classes.size() > kMaxRows) classes.resize(kMaxRows);
  for (const profile::ClassSummary& each : classes) {
    table.add({profile::lifetime_name(each.lifetime),
               bucket_text(each.frequency, profile.thresholds.frequency_base, profile.thresholds.frequency_buckets),
               count_text(each.tensors), bytes_text(real(each.bytes)), bytes_text(real(each.peak_bytes)),
               count_text(each.accesses)});
  }
  if (!table.empty()) table.write(out, kWidth);
}

std::string made_by(const Profile& profile, const profile::Tensor& tensor) {
  const std::uint32_t op = profile::making_op(profile, tensor);
  if (op < profile.ops.size()) return op_text(profile.names[profile.ops[op].name]);
  return tensor.producer != 0 ? profile.names[tensor.producer] : "-";
}

void write_largest(std::string& out, const Profile& profile) {
  constexpr std::size_t kRows = 5;
  std::vector<const profile::Tensor*> order;
  for (const profile::Tensor& tensor : profile.tensors) order.push_back(&tensor);
  const std::size_t rows = std::min(kRows, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rows), order.end(),
                    [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  Table table({{"largest"},
               {"class", Table::Align::left},
               {"producing op", Table::Align::left, true},
               {"module", Table::Align::left, true}});
  for (std::size_t i = 0; i < rows; ++i) {
    table.add({bytes_text(real(order[i]->bytes)), profile::lifetime_name(order[i]->lifetime),
               made_by(profile, *order[i]), order[i]->module != 0 ? profile.names[order[i]->module] : "-"});
  }
  if (!table.empty()) table.write(out, kWidth);
}

void write_profile(std::string& out, const Profile& profile) {
  const std::uint64_t total = profile.attributed_bytes + profile.outside_bytes;
  line(out, "  peak in it " + bytes_text(real(profile.peak_bytes)) + "; of " + bytes_text(real(total)) +
                " allocated, " + percent_text(total == 0 ? 1 : real(profile.attributed_bytes) / real(total)) +
                " inside ops");
  write_classes(out, profile);
  write_largest(out, profile);
  const profile::Agreement agreement = profile::compare(profile);
  if (agreement.watched == 0) return;
  const auto level = [&](const char* where, const profile::Level& each) {
    line(out, "  faults against operands, per " + std::string(where) + " op: precision " +
                  percent_text(each.precision()) + ", recall " + percent_text(each.recall()));
  };
  level("outermost", agreement.outermost);
  level("innermost", agreement.innermost);
}

}  // namespace

void write_text(std::string& out, const RunFacts& facts, const Profile* profile) {
  write_head(out, facts);
  write_profiled(out, facts.live.profiled);
  write_plan(out, facts.live.plan);
  write_tiers(out, facts.live.tiers);
  if (profile != nullptr) write_profile(out, *profile);
  const std::uint32_t count = std::min(facts.live.degradation_count, LiveFacts::kMaxDegradations);
  constexpr std::uint32_t kMaxTold = 5;
  for (std::uint32_t i = 0; i < std::min(count, kMaxTold); ++i) {
    const Degradation& each = facts.live.degradations[i];
    line(out, "  degraded: " + text_or(each.what, "?") + " (" + text_or(each.cause, "cause unknown") + ")");
    line(out, "    cure: " + text_or(each.cure, "none known"));
  }
  if (count > kMaxTold) line(out, "  and " + std::to_string(count - kMaxTold) + " more, see the JSON report");
}

}  // namespace hearth::report
