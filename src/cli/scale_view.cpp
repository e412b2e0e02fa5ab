#include "cli/scale_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/layout.h"

namespace hearth::cli {
namespace {

std::string bytes_text(std::uint64_t bytes) { return report::bytes_text(static_cast<double>(bytes)); }

template <typename AnyFacts>
std::string outcome_text(const AnyFacts& facts, const Peaks& peaks) {
  std::string out = fmt::format("peak         {}, {}; {}\n", bytes_text(peaks.small), bytes_text(peaks.large),
                                bytes_text(peaks.target));
  out += fmt::format("a step       {}, {}; {}\n", report::time_text(facts.small_ns), report::time_text(facts.large_ns),
                     report::time_text(facts.target_ns));
  return out;
}

std::string table_text(const scale::Sizes& sizes, const scale::Facts& facts, const Peaks& peaks) {
  using report::count_text;
  const double share = facts.compared == 0 ? 0 : static_cast<double>(facts.alone) / static_cast<double>(facts.compared);
  std::string out = fmt::format("sizes        {:g} and {:g}, extrapolated to {:g}: nothing of that was measured\n",
                                sizes.small, sizes.large, sizes.target);
  out += fmt::format("events       {} of both, {} of them without counterpart ({})\n", count_text(facts.compared),
                     count_text(facts.alone), report::percent_text(share));
  out += fmt::format("tensors      {}, {} of them grow; {} ({}) in the larger trace alone\n", count_text(facts.tensors),
                     count_text(facts.growing), count_text(facts.alone_tensors), bytes_text(facts.alone_bytes));
  out += fmt::format("ops          {} of {} kinds; {} in the larger trace alone\n", count_text(facts.ops),
                     count_text(facts.kinds), count_text(facts.ops_alone));
  out += outcome_text(facts, peaks);
  if (facts.alone_tensors + facts.ops_alone > 0) {
    out += "alone        what the larger trace alone has is taken to grow in proportion\n";
  }
  if (facts.shrinking + facts.shorter > 0) {
    out += fmt::format("clamped      {} tensors and {} ops ({}) were smaller at the larger size, and stay as there\n",
                       count_text(facts.shrinking), count_text(facts.shorter), report::time_text(facts.shorter_ns));
  }
  if (facts.steeper > 0) {
    out += fmt::format("not linear   {} tensors grow faster than the size: doubt what is said of them\n",
                       count_text(facts.steeper));
  }
  return out;
}

std::string json_text(const scale::Sizes& sizes, const scale::Facts& facts, const Peaks& peaks) {
  const nlohmann::ordered_json json = {
      {"schema_version", 1},
      {"sizes", {sizes.small, sizes.large, sizes.target}},
      {"peak_bytes", {peaks.small, peaks.large, peaks.target}},
      {"step_ns", {facts.small_ns, facts.large_ns, facts.target_ns}},
      {"events", facts.compared},
      {"events_alone", facts.alone},
      {"tensors", facts.tensors},
      {"tensors_growing", facts.growing},
      {"tensors_alone", facts.alone_tensors},
      {"tensors_alone_bytes", facts.alone_bytes},
      {"tensors_clamped", facts.shrinking},
      {"tensors_not_linear", facts.steeper},
      {"ops", facts.ops},
      {"ops_alone", facts.ops_alone},
      {"op_kinds", facts.kinds},
      {"ops_clamped", facts.shorter},
      {"ops_clamped_ns", facts.shorter_ns},
  };
  return json.dump(2) + "\n";
}

std::string table_text(const scale::Sizes& depths, const scale::DepthFacts& facts, const Peaks& peaks) {
  using report::count_text;
  const double share = facts.compared == 0 ? 0 : static_cast<double>(facts.alone) / static_cast<double>(facts.compared);
  std::string out = fmt::format("depths       {:g} and {:g}, an extrapolation to {:g}: nothing of that was measured\n",
                                depths.small, depths.large, depths.target);
  out += fmt::format("events       {} of both, {} of them neither repeat nor have a counterpart ({})\n",
                     count_text(facts.compared), count_text(facts.alone), report::percent_text(share));
  out += fmt::format("layers       in {} places of the step they repeat; in {} stack{}\n", count_text(facts.phases),
                     count_text(facts.stacks), facts.stacks == 1 ? "" : "s");
  out += fmt::format("a unit       {:g} layer{}: {} events, {} ops, {} tensors\n", facts.layers,
                     facts.layers == 1 ? "" : "s", count_text(facts.events), count_text(facts.ops),
                     count_text(facts.tensors));
  out += fmt::format("added        {} units; without the last the deeper trace is the smaller one, tensor by tensor\n",
                     count_text(facts.units));
  return out + outcome_text(facts, peaks);
}

std::string json_text(const scale::Sizes& depths, const scale::DepthFacts& facts, const Peaks& peaks) {
  const nlohmann::ordered_json json = {
      {"schema_version", 1},
      {"depths", {depths.small, depths.large, depths.target}},
      {"peak_bytes", {peaks.small, peaks.large, peaks.target}},
      {"step_ns", {facts.small_ns, facts.large_ns, facts.target_ns}},
      {"events", facts.compared},
      {"events_alone", facts.alone},
      {"phases", facts.phases},
      {"stacks", facts.stacks},
      {"unit_layers", facts.layers},
      {"unit_events", facts.events},
      {"unit_ops", facts.ops},
      {"unit_tensors", facts.tensors},
      {"units_added", facts.units},
  };
  return json.dump(2) + "\n";
}

}  // namespace

std::string scale_text(const scale::Sizes& sizes, const scale::Facts& facts, const Peaks& peaks, bool json) {
  return json ? json_text(sizes, facts, peaks) : table_text(sizes, facts, peaks);
}

std::string scale_text(const scale::Sizes& depths, const scale::DepthFacts& facts, const Peaks& peaks, bool json) {
  return json ? json_text(depths, facts, peaks) : table_text(depths, facts, peaks);
}

}  // namespace hearth::cli
