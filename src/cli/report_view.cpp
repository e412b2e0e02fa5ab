#include "cli/report_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cli/report_file.h"
#include "cli/text_page.h"
#include "cli/tiers_view.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

using json = nlohmann::ordered_json;
using report::bytes_text;
using report::count_text;
using report::number_text;
using report::percent_text;
using report::Table;
using report::time_text;
using Align = Table::Align;

std::string bytes_of(const json& value) { return bytes_text(value.get<double>()); }
std::string count_of(const json& value) { return count_text(value.get<std::uint64_t>()); }
std::string time_of(const json& value) { return time_text(value.get<double>()); }
std::string text_of(const json& value) { return value.get<std::string>(); }

class View {
 public:
  View(const json& document, const ReportStyle& style)
      : document_(document), profile_(document.at("profile")), style_(style), page_(style) {}

  std::string render();

 private:
  void heading(const char* text) { page_.heading(text); }
  void line(const std::string& text) { page_.line(text); }
  void wrapped(const std::string& text) { page_.wrapped(text); }
  std::string bucket(std::uint32_t frequency) const;
  void head();
  void options();
  void plan();
  void trials();
  void iteration();
  void classes();
  void lifetimes();
  void largest();
  void hint_at_modules();
  void memory();
  void agreement();
  void level(const char* name, const json& values);
  void not_seen();
  void problems();

  const json& document_;
  const json& profile_;
  const ReportStyle& style_;
  TextPage page_;
};

std::string View::bucket(std::uint32_t frequency) const {
  const json& thresholds = profile_.at("thresholds");
  return report::bucket_text(frequency, thresholds.at("frequency_base").get<double>(),
                             thresholds.at("frequency_buckets").get<std::uint32_t>());
}

void View::head() {
  const json& process = document_.at("process");
  page_.title("Hearth report, version " + text_of(document_.at("generator").at("version")));
  wrapped(text_of(process.at("command")));
  std::string where = "pid " + process.at("pid").dump() + " on " + text_of(process.at("host"));
  if (!text_of(process.at("rank")).empty()) {
    where += ", rank " + text_of(process.at("rank")) + " of " + text_of(process.at("world_size"));
  }
  const std::string torch = text_of(process.at("torch_version"));
  line(where + ", " + (torch.empty() ? "no PyTorch seen" : "PyTorch " + torch));
  const std::string absent = text_of(process.at("adapter").at("absent_because"));
  if (!absent.empty()) wrapped("no adapter, so ops are unknown: " + absent);
  if (document_.at("written").at("because") == "made from a trace") {
    line("made from a trace, which knows the profiled iteration only");
    return;
  }
  const json& iterations = document_.at("iterations");
  line("state " + text_of(document_.at("state")) + ", " + count_of(iterations.at("closed")) + " iterations, " +
       count_of(iterations.at("profiled")) + " profiled; written: " + text_of(document_.at("written").at("because")));
  const json& counters = document_.at("counters");
  line(count_of(counters.at("allocations")) + " tensors allocated, " + count_of(counters.at("frees")) + " freed, " +
       count_of(counters.at("live_tensors")) + " live (" + bytes_of(counters.at("live_bytes")) + "), peak " +
       bytes_of(counters.at("peak_bytes")));
}

void View::options() {
  Table table({{"option", Align::left}, {"value", Align::left, true}, {"origin", Align::left}});
  for (const json& option : document_.at("options")) {
    if (option.at("origin") == "default") continue;
    table.add({text_of(option.at("name")), text_of(option.at("value")), text_of(option.at("origin"))});
  }
  if (table.empty()) return;
  heading("Options that differ from their defaults");
  table.write(page_.text(), style_.width);
}

// What was measured, and what came of it.
void View::trials() {
  const auto found = document_.find("trials");
  if (found == document_.end() || found->at("measured").empty() || found->at("measured")[0].at("step_ns") == 0) return;
  std::string text = "tried in real steps:";
  const char* between = " ";
  for (const json& row : found->at("measured")) {
    text += between + row.at("plan").get<std::string>() + " ";
    text += row.at("step_ns") == 0 ? "(being measured)" : time_text(row.at("step_ns").get<double>());
    if (row.at("kept").get<bool>()) text += " (kept)";
    between = ", ";
  }
  const auto at = found->at("converged_at").get<std::uint64_t>();
  line(text + (at == 0 ? "; more to be tried" : "; converged at iteration " + count_text(at)));
}

void View::plan() {
  const auto found = document_.find("plan");  // reports before there were plans have none
  if (found == document_.end() || !found->at("present").get<bool>()) return;
  const json& plan = *found;
  heading("Plan");
  const auto height = plan.at("height_bytes").get<double>();
  const auto bound = plan.at("lower_bound_bytes").get<double>();
  line(count_of(plan.at("planned")) + " of " + count_of(plan.at("entries")) + " tensors in " +
       bytes_of(plan.at("height_bytes")) + ", " + report::number_text(bound > 0 ? height / bound : 1, 3) +
       "x the least possible; " + count_of(plan.at("plans")) + (plan.at("plans") == 1 ? " plan" : " plans") +
       (plan.at("from_file").get<bool>() ? ", from a file" : ""));
  line(count_of(plan.at("iterations")) + " iterations managed, " + count_of(plan.at("iterations_off")) +
       " of them off the plan; left " + count_of(plan.at("left")) + " times, moved " + count_of(plan.at("moved")));
  const std::string because = text_of(plan.value("left_because", json("")));  // absent in older reports
  if (!because.empty()) line("last left because " + because);
  trials();
  line("tensors: " + count_of(plan.at("taken")) + " in place, " + count_of(plan.at("left_to_heap")) +
       " left to the heap by the plan, " + count_of(plan.at("blocked")) + " found their place taken, " +
       count_of(plan.at("lost")) + " unknown to it");
}

void View::iteration() {
  heading("Profiled iteration");
  const json& profiled = document_.at("profiled_iteration");
  if (profiled.is_null()) {
    line("none yet");
    return;
  }
  line("number " + count_of(profiled.at("number")) + ", mode " + text_of(profiled.at("mode")) + ", " +
       time_of(profiled.at("duration_ns")) + ", " + count_of(profiled.at("events")) + " events");
  if (profiled.at("slowdown").is_null()) {
    line("slowdown: not known, no other iteration was timed");
  } else {
    line("slowdown: " + number_text(profiled.at("slowdown").get<double>(), 2) + "x the median of the others, " +
         time_of(profiled.at("median_unprofiled_ns")));
  }
  if (!profiled.at("fault_round_trip_ns").is_null()) {
    line("one caught fault costs " + time_of(profiled.at("fault_round_trip_ns")) + " on this machine");
  }
  if (profile_.is_null()) return;
  const json& attribution = profile_.at("attribution");
  const double total = attribution.at("total_bytes").get<double>();
  const double inside = attribution.at("in_ops_bytes").get<double>();
  const std::string share =
      total > 0 ? percent_text(inside / total) + " inside ops, " + percent_text(1 - inside / total) + " outside any"
                : "nothing";
  line("allocated: " + bytes_of(attribution.at("total_bytes")) + ": " + share);
}

void View::classes() {
  heading("Classes: lifetime and touches per byte");
  Table table(
      {{"lifetime", Align::left}, {"touches/byte"}, {"tensors"}, {"bytes"}, {"peak"}, {"accesses"}, {"touched"}});
  for (const json& each : profile_.at("classes")) {
    table.add({text_of(each.at("lifetime")), bucket(each.at("frequency").get<std::uint32_t>()),
               count_of(each.at("tensors")), bytes_of(each.at("bytes")), bytes_of(each.at("peak_bytes")),
               count_of(each.at("accesses")), bytes_of(each.at("touched_bytes"))});
  }
  table.write(page_.text(), style_.width);
}

// Rows: how many outermost ops a tensor lives through; columns: how often it is touched.
void View::lifetimes() {
  static constexpr std::array kLimits{1u, 8u, 64u, 512u};
  static constexpr std::array kRows{"1", "2 .. 8", "9 .. 64", "65 .. 512", "more", "across iterations"};
  const auto buckets = std::min(profile_.at("thresholds").at("frequency_buckets").get<std::uint32_t>(), 64u);
  struct Cell {
    std::uint64_t tensors = 0;
    double bytes = 0;
  };
  std::map<std::pair<std::size_t, std::uint32_t>, Cell> cells;
  const ReportTable tensors(profile_.at("tensors"));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t row = kRows.size() - 1;
    if (tensors.cell(i, "lifetime") != "persistent") {
      const auto ops = tensors.cell(i, "dies_position").get<std::uint32_t>() -
                       tensors.cell(i, "born_position").get<std::uint32_t>() + 1;
      row = static_cast<std::size_t>(std::lower_bound(kLimits.begin(), kLimits.end(), ops) - kLimits.begin());
    }
    Cell& cell = cells[{row, tensors.cell(i, "frequency").get<std::uint32_t>()}];
    ++cell.tensors;
    cell.bytes += tensors.cell(i, "bytes").get<double>();
  }
  heading("Accesses against lifetime: tensors, bytes");
  std::vector<Table::Column> columns{{"outermost ops lived", Align::left}};
  for (std::uint32_t b = 0; b < buckets; ++b) columns.push_back({bucket(b) + " /byte"});
  Table table(std::move(columns));
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    std::vector<std::string> line{kRows[row]};
    for (std::uint32_t b = 0; b < buckets; ++b) {
      const Cell cell = cells[{row, b}];
      line.push_back(cell.tensors == 0 ? "-" : count_text(cell.tensors) + ", " + bytes_text(cell.bytes));
    }
    table.add(std::move(line));
  }
  table.write(page_.text(), style_.width);
}

void View::hint_at_modules() {
  for (const json& option : document_.at("options")) {
    if (option.at("name") == "HEARTH_MODULES" && option.at("value") != "0") return;
  }
  line("(HEARTH_MODULES=1 or hearth run --modules names the modules)");
}

void View::largest() {
  const ReportTable ops(profile_.at("ops")), tensors(profile_.at("tensors"));
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto bytes = [&](std::size_t i) { return tensors.cell(i, "bytes").get<std::uint64_t>(); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes(a) > bytes(b); });
  if (order.size() > style_.top) order.resize(style_.top);
  const json& access_columns = profile_.at("tensors").at("access_columns");
  heading("Largest tensors");
  Table table({{"bytes"},
               {"class", Align::left},
               {"touches"},
               {"accesses"},
               {"born in", Align::left, true},
               {"module", Align::left, true},
               {"dies in", Align::left, true}});
  bool any_module = false;
  for (const std::size_t i : order) {
    std::string producer = report_op(profile_, ops, tensors.cell(i, "made_by_op"));
    if (tensors.cell(i, "born_op").get<std::int64_t>() < 0) {
      // Before the iteration only the op's name is known.
      const std::string name = report_name(profile_, tensors.cell(i, "producer_name"));
      if (!name.empty()) producer = "before: " + report::op_text(name);
    }
    std::string module = report_name(profile_, tensors.cell(i, "module_name"));
    any_module = any_module || !module.empty();
    table.add({bytes_of(tensors.cell(i, "bytes")), text_of(tensors.cell(i, "lifetime")),
               report::touches_text(tensors.cell(i, "touches_per_byte").get<double>()),
               count_text(touching_accesses(tensors, access_columns, i)), report::op_text(producer),
               module.empty() ? "-" : module, report::op_text(report_op(profile_, ops, tensors.cell(i, "dies_op")))});
  }
  table.write(page_.text(), style_.width);
  if (!any_module && !order.empty()) hint_at_modules();
  const json& omitted = profile_.at("tensors").at("omitted");
  if (omitted.at("tensors") != 0) {
    line(count_of(omitted.at("tensors")) + " smaller tensors (" + bytes_of(omitted.at("bytes")) +
         ") are in the classes, but not listed in the file");
  }
}

void View::memory() {
  heading("Memory over time");
  std::vector<profile::Point> points;
  const ReportTable timeline(profile_.at("timeline"));
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    points.push_back(
        {timeline.cell(i, "time_ns").get<std::uint64_t>(), timeline.cell(i, "live_bytes").get<std::uint64_t>()});
  }
  report::write_plot(page_.text(), points, profile_.at("duration_ns").get<std::uint64_t>(),
                     {std::min<std::size_t>(style_.width, 120), 8, style_.unicode});
  const ReportTable ops(profile_.at("ops"));
  line("peak " + bytes_of(profile_.at("peak_bytes")) + " in " + report_op(profile_, ops, profile_.at("peak_op")));
}

void View::level(const char* name, const json& values) {
  line(std::string(name) + ": precision " + percent_text(values.at("precision").get<double>()) + ", recall " +
       percent_text(values.at("recall").get<double>()) +
       " (with what one side cannot see by design: " + percent_text(values.at("raw_precision").get<double>()) + ", " +
       percent_text(values.at("raw_recall").get<double>()) + ")");
}

void View::agreement() {
  heading("Do page faults and dispatcher operands agree?");
  const json& agreement = profile_.at("agreement");
  if (agreement.is_null()) {
    line("not compared: no tensor was guarded (mode ops)");
    return;
  }
  line(count_of(agreement.at("watched_tensors")) + " tensors watched");
  level("per outermost op", agreement.at("outermost"));
  level("per innermost op", agreement.at("innermost"));
  Table table({{"pairs"}, {"bytes"}, {"seen by", Align::left}, {"why not by the other", Align::left, true}});
  for (const json& each : agreement.at("disagreements")) {
    table.add({count_of(each.at("pairs")), bytes_of(each.at("bytes")), text_of(each.at("seen_by")),
               text_of(each.at("text")) + (each.at("by_design").get<bool>() ? " (by design)" : "")});
  }
  if (!table.empty()) table.write(page_.text(), style_.width);
}

void View::not_seen() {
  heading("Not seen, and why");
  for (const json& each : document_.at("not_seen")) {
    if (each.at("tensors") == 0) continue;
    std::string text = "- " + text_of(each.at("what"));
    if (!each.at("tensors").is_null()) {
      text += " (" + count_of(each.at("tensors")) + " tensors, " + bytes_of(each.at("bytes")) + ")";
    }
    wrapped(text + ": " + text_of(each.at("why")));
  }
}

void View::problems() {
  std::vector<std::string> lines;
  for (const json& each : document_.at("degradations")) {
    lines.push_back("- " + text_of(each.at("what")) + " (" + text_of(each.at("cause")) + "); " +
                    text_of(each.at("cure")));
  }
  if (!profile_.is_null() && !profile_.at("complete").get<bool>()) {
    lines.push_back("- the profile is incomplete: " + count_of(profile_.at("anomalies").at("dropped_events")) +
                    " events did not fit the log; set HEARTH_EVENTS higher");
  }
  if (lines.empty()) return;
  heading("Degraded");
  for (const std::string& each : lines) wrapped(each);
}

std::string View::render() {
  head();
  options();
  plan();
  show_tiers(page_, document_);
  iteration();
  if (!profile_.is_null()) {
    classes();
    lifetimes();
    largest();
    memory();
    agreement();
  }
  not_seen();
  problems();
  return std::move(page_.text());
}

}  // namespace

std::string report_view(const json& report, const ReportStyle& style) { return View(report, style).render(); }

}  // namespace hearth::cli
