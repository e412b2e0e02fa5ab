#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/report_file.h"
#include "cli/tiers_view.h"
#include "plan/account.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

using json = nlohmann::ordered_json;
using report::bytes_text;
using report::count_text;
using report::Table;
using report::time_text;
using Align = Table::Align;

constexpr std::size_t kColumns = 64;  // of the timeline

double number(const ReportTable& table, std::size_t row, const char* column) {
  return table.cell(row, column).get<double>();
}

std::string text(const ReportTable& table, std::size_t row, const char* column) {
  return table.cell(row, column).get<std::string>();
}

std::string bytes_or_dash(double bytes) { return bytes > 0 ? bytes_text(bytes) : "-"; }
std::string time_or_dash(double ns) { return ns > 0 ? time_text(ns) : "-"; }

// "0-12", "0-12 +1": and another one.
std::string windows_text(const json& windows, std::uint32_t ops) {
  if (windows.empty()) return "-";
  if (windows.size() == 1 && windows[0][0] == 0 && windows[0][1] == ops) return "all";
  const std::string told = windows[0][0].dump() + "-" + windows[0][1].dump();
  return windows.size() > 1 ? told + " +" + std::to_string(windows.size() - 1) : told;
}

// "mm in encoder": PyTorch's own ops go without their namespace, since there is little room.
std::string born_in(const ReportTable& tensors, std::size_t row) {
  constexpr std::string_view kOwn = "aten::";
  std::string op = report::op_text(text(tensors, row, "made_by"));
  if (op.starts_with(kOwn)) op.erase(0, kOwn.size());
  const std::string module = text(tensors, row, "module");
  return (op.empty() ? "-" : op) + (module.empty() ? "" : " in " + module);
}

plan::Reason reason_named(const std::string& name) {
  for (std::uint32_t i = 0; i < plan::kReasons; ++i) {
    if (name == plan::reason_name(static_cast<plan::Reason>(i))) return static_cast<plan::Reason>(i);
  }
  throw std::runtime_error("there is no reason '" + name + "'");
}

std::string why(const ReportTable& tensors, std::size_t row) {
  const plan::Reason reason = reason_named(text(tensors, row, "reason"));
  const std::string told = plan::reason_text(reason);
  if (reason == plan::Reason::moves) {
    return told + ", " + count_text(tensors.cell(row, "fast_uses").get<std::uint64_t>()) + " of " +
           count_text(tensors.cell(row, "uses").get<std::uint64_t>()) + " uses fast";
  }
  if (reason != plan::Reason::partly) return told;
  const double bytes = number(tensors, row, "bytes");
  return told + ": " + report::percent_text(bytes > 0 ? number(tensors, row, "fast_most_bytes") / bytes : 0);
}

class View {
 public:
  View(TextPage& page, const json& document, const json& tiers)
      : page_(page),
        profile_(document.at("profile")),
        account_(tiers.at("account")),
        ops_(account_.at("ops").get<std::uint32_t>()),
        step_ns_(tiers.at("foreseen").at("step_ns").get<double>()),
        capacity_(tiers.at("fast_capacity_bytes").get<double>()) {}

  void classes() {
    const ReportTable rows(account_.at("classes"));
    page_.heading("What lives where, by class (foreseen of one step)");
    Table table({{"lifetime", Align::left},
                 {"touches/byte"},
                 {"fast"},
                 {"moves"},
                 {"slow"},
                 {"gain"},
                 {"possible"},
                 {"moved"},
                 {"average"}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double slow = 0;
      for (const plan::Reason reason : {plan::Reason::no_gain, plan::Reason::seldom, plan::Reason::no_room,
                                        plan::Reason::no_time, plan::Reason::unplanned}) {
        slow += number(rows, i, plan::reason_name(reason));
      }
      const double moves = number(rows, i, "moves") + number(rows, i, "partly");
      table.add({text(rows, i, "lifetime"), bucket(rows.cell(i, "frequency").get<std::uint32_t>()),
                 bytes_or_dash(number(rows, i, "stays")), bytes_or_dash(moves), bytes_or_dash(slow),
                 time_or_dash(number(rows, i, "gain_ns")), time_or_dash(number(rows, i, "possible_ns")),
                 bytes_or_dash(number(rows, i, "moved_bytes")), bytes_or_dash(number(rows, i, "fast_average_bytes"))});
    }
    table.write(page_.text(), page_.style().width);
    reasons(rows);
  }

  // What is slow, by reason.
  void reasons(const ReportTable& rows) {
    std::string told;
    for (std::uint32_t i = 0; i < plan::kReasons; ++i) {
      const auto reason = static_cast<plan::Reason>(i);
      double bytes = 0;
      for (std::size_t row = 0; row < rows.size(); ++row) bytes += number(rows, row, plan::reason_name(reason));
      if (bytes > 0)
        told += (told.empty() ? "" : "; ") + std::string(plan::reason_text(reason)) + " " + bytes_text(bytes);
    }
    if (!told.empty()) page_.wrapped("why: " + told);
    page_.wrapped(
        "gain: by what a step is shorter than were all of it slow; possible: by what it would be shorter still, were "
        "all "
        "of it fast; average: what it takes of the fast tier, over the time of a step");
  }

  void tensors() {
    const ReportTable rows(account_.at("tensors"));
    if (rows.size() == 0) return;
    page_.heading("What lives where and why (largest tensors)");
    Table table({{"bytes"},
                 {"class", Align::left},
                 {"born in", Align::left, true},
                 {"gain"},
                 {"moved"},
                 {"average"},
                 {"fast in ops", Align::left},
                 {"why", Align::left}});
    for (std::size_t i = 0; i < std::min(rows.size(), page_.style().top); ++i) {
      table.add({bytes_text(number(rows, i, "bytes")), text(rows, i, "lifetime"), born_in(rows, i),
                 time_or_dash(number(rows, i, "gain_ns")), bytes_or_dash(number(rows, i, "moved_bytes")),
                 bytes_or_dash(number(rows, i, "fast_average_bytes")), windows_text(rows.cell(i, "windows"), ops_),
                 why(rows, i)});
    }
    table.write(page_.text(), page_.style().width);
    page_.line("of " + count_text(ops_) + " ops; --top lists more of the " + count_text(rows.size()) +
               " tensors in the file");
  }

  void timeline() {
    const ReportTable rows(account_.at("timeline"));
    if (rows.size() == 0) return;
    page_.heading("Fast memory over a step (foreseen)");
    std::vector<double> all(kColumns, 0);
    double scale = capacity_;
    std::array<std::vector<double>, plan::kFastKinds> bars;
    for (std::uint32_t kind = 0; kind < plan::kFastKinds; ++kind) {
      bars[kind] = columns_of(rows, plan::fast_kind_name(kind));
      for (std::size_t c = 0; c < kColumns; ++c) scale = std::max(scale, all[c] += bars[kind][c]);
    }
    for (std::uint32_t kind = 0; kind < plan::kFastKinds; ++kind) bar(plan::fast_kind_name(kind), bars[kind], scale);
    bar("all", all, scale);
    page_.line("a full block is " + bytes_text(scale) + (scale == capacity_ ? ", all that is allowed" : "") + "; " +
               time_text(step_ns_) + " from left to right");
  }

  void latest_moves() {
    const ReportTable rows(account_.at("moves"));
    std::vector<std::size_t> late;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.cell(i, "late") != 0) late.push_back(i);
    }
    if (late.empty()) return;
    std::stable_sort(late.begin(), late.end(), [&](std::size_t a, std::size_t b) {
      return number(rows, a, "late_ns") > number(rows, b, "late_ns");
    });
    page_.heading("Moves that came late, the worst first");
    Table table({{"bytes"},
                 {"to", Align::left},
                 {"from op"},
                 {"due"},
                 {"foreseen"},
                 {"late"},
                 {"by on average"},
                 {"at most"},
                 {"tensor", Align::left, true}});
    for (std::size_t i = 0; i < std::min(late.size(), page_.style().top); ++i) {
      const std::size_t row = late[i];
      const double times = number(rows, row, "late");
      table.add({bytes_text(number(rows, row, "bytes")), text(rows, row, "to"), rows.cell(row, "at").dump(),
                 rows.cell(row, "due").dump(), time_text(number(rows, row, "foreseen_ns")),
                 rows.cell(row, "late").dump() + " of " + rows.cell(row, "asked").dump(),
                 time_text(number(rows, row, "late_ns") / times), time_text(number(rows, row, "latest_ns")),
                 tensor_of(rows.cell(row, "stretch").get<std::uint64_t>())});
    }
    table.write(page_.text(), page_.style().width);
    page_.line(count_text(late.size()) + " of " + count_text(rows.size()) + " moves of a step came late at least once");
  }

 private:
  std::string bucket(std::uint32_t frequency) const {
    if (profile_.is_null()) return std::to_string(frequency);
    const json& thresholds = profile_.at("thresholds");
    return report::bucket_text(frequency, thresholds.at("frequency_base").get<double>(),
                               thresholds.at("frequency_buckets").get<std::uint32_t>());
  }

  // The highest value in each part of the time; where none was seen, the one before.
  std::vector<double> columns_of(const ReportTable& rows, const char* name) const {
    std::vector<double> columns(kColumns, -1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double share = std::clamp(number(rows, i, "time_ns") / std::max(step_ns_, 1.0), 0.0, 1.0);
      const auto at = std::min(static_cast<std::size_t>(share * kColumns + 0.01), kColumns - 1);
      columns[at] = std::max(columns[at], number(rows, i, name));
    }
    double last = 0;
    for (double& each : columns) last = each = each < 0 ? last : each;
    return columns;
  }

  void bar(const char* name, const std::vector<double>& values, double scale) {
    static constexpr std::array kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr std::array kAscii{" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    double most = 0;
    std::string drawn;
    for (const double value : values) {
      most = std::max(most, value);
      const double level = scale > 0 ? std::min(value / scale, 1.0) * 8 : 0;
      const auto block = static_cast<std::size_t>(value > 0 ? std::clamp(level + 0.5, 1.0, 8.0) : 0);
      drawn += (page_.style().unicode ? kBlocks : kAscii)[block];
    }
    std::string label = name;
    label.resize(11, ' ');
    page_.line(label + "|" + drawn + "| " + bytes_text(most));
  }

  std::string tensor_of(std::uint64_t stretch) const {
    const ReportTable rows(account_.at("tensors"));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto first = rows.cell(i, "first_stretch").get<std::uint64_t>();
      if (stretch < first || stretch >= first + rows.cell(i, "stretches").get<std::uint64_t>()) continue;
      return text(rows, i, "lifetime") + ": " + born_in(rows, i);
    }
    return "one of the smaller ones";
  }

  TextPage& page_;
  const json& profile_;
  const json& account_;
  std::uint32_t ops_;
  double step_ns_;
  double capacity_;
};

}  // namespace

void show_account(TextPage& page, const json& document, const json& tiers) {
  View view(page, document, tiers);
  view.classes();
  view.tensors();
  view.timeline();
  view.latest_moves();
}

}  // namespace hearth::cli
