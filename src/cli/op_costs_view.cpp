#include "cli/op_costs_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/layout.h"

namespace hearth::cli {
namespace {

constexpr std::size_t kShown = 8;  // ops that are least additive

std::string operands_text(const costs::OpKey& key) {
  std::string text;
  for (const costs::Operand& operand : key.operands) {
    const char* how = operand.write == 0 ? "r " : operand.read == 0 ? "w " : "rw ";
    if (!text.empty()) text += ", ";
    text += how + report::bytes_text(static_cast<double>(std::max(operand.read, operand.write)));
  }
  return text;
}

const char* kind_text(costs::Kind kind) {
  switch (kind) {
    case costs::Kind::additive:
      return "additive";
    case costs::Kind::exact:
      return "exact";
    case costs::Kind::neither:
      return "roofline";
    case costs::Kind::unmeasured:
      break;
  }
  return "unmeasured";
}

std::string checked_text(const ProfiledOps& profiled) {
  const costs::Summary& summary = profiled.summary;
  if (summary.checked.empty()) return "additivity   no op has two operands that matter\n";
  const auto share = [](double value) { return fmt::format("{:+.1f} %", value * 100); };
  std::string out =
      fmt::format("additivity   of {} kinds with several operands {} are not additive: {} exact, {} by the roofline\n",
                  summary.checked.size(), summary.exact + summary.neither, summary.exact, summary.neither);
  out += fmt::format(
      "             sum of single extras against the joint one, of the op's time: median {:.1f} %, worst {}\n",
      summary.median_error * 100, share(summary.checked.front().form.error()));
  report::Table table({{"op", report::Table::Align::left},
                       {"operands", report::Table::Align::left, true},
                       {"ops"},
                       {"all fast"},
                       {"singly slow"},
                       {"all slow"},
                       {"error"},
                       {"form", report::Table::Align::left}});
  for (std::size_t i = 0; i < std::min(kShown, summary.checked.size()); ++i) {
    const costs::Checked& each = summary.checked[i];
    const costs::Alike& alike = profiled.study.alike()[each.alike];
    table.add({report::op_text(alike.key.op), operands_text(alike.key), std::to_string(alike.ops.size()),
               report::time_text(each.form.fast_ns), "+" + report::time_text(each.form.sum_ns() - each.form.fast_ns),
               "+" + report::time_text(std::max(0.0, each.form.joint_ns - each.form.fast_ns)), share(each.form.error()),
               kind_text(each.form.kind)});
  }
  out += "\nThe least additive; the extras of operands that are slow alone, added up, and of all slow together:\n";
  table.write(out, 140);
  return out;
}

}  // namespace

std::string op_costs_text(const ProfiledOps& profiled) {
  const costs::Summary& summary = profiled.summary;
  std::string out = fmt::format("machine      {}{}\n", profiled.costs.machine.name,
                                profiled.costs.emulated ? ", emulated" : ": this machine's memory nodes");
  out += fmt::format("ops          {} with operands large enough to show, of {} kinds; {} placements measured\n",
                     report::count_text(summary.ops), report::count_text(summary.kinds),
                     report::count_text(summary.placements));
  if (summary.missing != 0) out += fmt::format("missing      {} kinds are not measured completely\n", summary.missing);
  out += fmt::format("this time    {} placements of the iteration, in {} runs of the program\n", profiled.rounds,
                     profiled.runs);
  const auto time = [](double ns) { return report::time_text(ns); };
  out += fmt::format("these ops    {} an iteration all fast, {} all slow, from the former by the roofline {}\n",
                     time(summary.fast_ns), time(summary.slow_ns), time(summary.roofline_slow_ns));
  out += fmt::format("             a kind's time all slow is off the roofline's by {:.1f} % (median)\n",
                     summary.median_roofline_error * 100);
  out += checked_text(profiled);
  out += fmt::format("\nUse them:  hearth plan {} --fast 20% --policy autotm --op-costs {} --machine {}\n",
                     profiled.trace, profiled.path, profiled.costs.machine.name);
  return out;
}

nlohmann::ordered_json op_costs_json(const ProfiledOps& profiled) {
  const costs::Summary& summary = profiled.summary;
  nlohmann::ordered_json checked = nlohmann::ordered_json::array();
  for (const costs::Checked& each : summary.checked) {
    const costs::Alike& alike = profiled.study.alike()[each.alike];
    nlohmann::ordered_json operands = nlohmann::ordered_json::array();
    for (const costs::Operand& operand : alike.key.operands) operands.push_back({operand.read, operand.write});
    checked.push_back({{"op", alike.key.op},
                       {"operands", operands},
                       {"ops", alike.ops.size()},
                       {"fast_ns", each.form.fast_ns},
                       {"single_extras_ns", each.form.more_ns},
                       {"all_slow_ns", each.form.joint_ns},
                       {"error", each.form.error()},
                       {"form", kind_text(each.form.kind)}});
  }
  return {{"schema_version", 1},
          {"costs", profiled.path},
          {"trace", profiled.trace},
          {"machine", profiled.costs.machine.name},
          {"emulated", profiled.costs.emulated},
          {"runs", profiled.runs},
          {"rounds", profiled.rounds},
          {"ops", summary.ops},
          {"kinds", summary.kinds},
          {"kinds_missing", summary.missing},
          {"placements", summary.placements},
          {"fast_ns", summary.fast_ns},
          {"slow_ns", summary.slow_ns},
          {"roofline_slow_ns", summary.roofline_slow_ns},
          {"median_roofline_error", summary.median_roofline_error},
          {"additivity",
           {{"kinds", summary.checked.size()},
            {"exact", summary.exact},
            {"neither", summary.neither},
            {"median_error", summary.median_error},
            {"checked", checked}}}};
}

}  // namespace hearth::cli
