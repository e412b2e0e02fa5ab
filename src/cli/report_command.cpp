// hearth report FILE: what a report (or a trace) says, as text, normalised JSON or CSV.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/report_file.h"
#include "cli/report_view.h"

namespace hearth::cli {
namespace {

struct Options {
  std::string file;
  std::size_t top = 15;
  bool json = false;
  bool csv = false;
  bool ascii = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const long columns = std::strtol(variable("COLUMNS").c_str(), nullptr, 10);
  return columns > 0 && columns < 10000 ? static_cast<std::size_t>(columns) : 100;
}

bool terminal_speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(name);
    if (!value.empty()) {
      return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
  }
  return false;
}

ReportStyle style_for(const Options& options) {
  ReportStyle style;
  style.width = std::max<std::size_t>(terminal_width(), 60);
  style.top = options.top;
  style.colour = isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  style.unicode = !options.ascii && terminal_speaks_utf8();
  return style;
}

std::string rendered(const nlohmann::ordered_json& report, const Options& options) {
  // Names come from the program that was profiled and need not be UTF-8 where the report was edited.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  if (options.json) return normalised(report).dump(2, ' ', false, kReplace) + "\n";
  if (options.csv) return tensors_csv(report);
  return report_view(report, style_for(options));
}

void show(const Options& options) {
  const Result<nlohmann::ordered_json> report = load_report(options.file);
  if (!report) fail(kFailed, report.error());
  std::string text;
  try {
    text = rendered(*report, options);
  } catch (const std::exception& problem) {
    fail(kFailed, options.file + ": a damaged Hearth report: " + problem.what());
  }
  print(text);
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "Show what a report or trace file says");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "report written by HEARTH_REPORT, or trace by HEARTH_TRACE")->required();
  command->add_option("--top", options->top, "tensors to list")
      ->capture_default_str()
      ->check([](const std::string& text) {
        const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
        const bool positive = text.find_first_not_of('0') != std::string::npos;
        return digits && positive ? std::string() : "expected a number of at least 1, not " + text;
      });
  CLI::Option* json = command->add_flag("--json", options->json, "JSON with names resolved and tables as objects");
  command->add_flag("--csv", options->csv, "the tensors as CSV")->excludes(json);
  command->add_flag("--ascii", options->ascii, "plot with ASCII characters only");
  command->footer(
      "\nExamples:\n  HEARTH_REPORT=r.json hearth run -- python train.py; hearth report r.json\n"
      "  hearth report r.json --top 40\n  hearth report r.json --csv > tensors.csv");
  command->callback([options] { show(*options); });
}

}  // namespace hearth::cli
