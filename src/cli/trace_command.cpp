// hearth trace FILE: what a trace file holds; with --dump every event as CSV.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "profile/trace_file.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

using profile::Trace;

const char* type_name(std::uint8_t type) {
  static constexpr const char* kNames[] = {"?",          "LIVE",     "ALLOC", "FREE",         "OP_BEGIN",
                                           "OP_END",     "OPERAND",  "FAULT", "MODULE_ENTER", "MODULE_EXIT",
                                           "STEP_BEGIN", "STEP_END", "GUARD", "SAMPLE"};
  return type < std::size(kNames) ? kNames[type] : kNames[0];
}

const char* access_name(const hearth_event& event) {
  if (event.type == HEARTH_EVENT_GUARD) {
    static constexpr const char* kWatches[] = {"none", "first_page", "sampled_pages", "?"};
    return kWatches[event.access & 3];
  }
  static constexpr const char* kAccesses[] = {"", "R", "W", "RW"};
  return kAccesses[event.access & 3];
}

bool has_page(std::uint8_t type) {
  return type == HEARTH_EVENT_FAULT || type == HEARTH_EVENT_GUARD || type == HEARTH_EVENT_SAMPLE;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void dump(const Trace& trace) {
  std::fputs("index,time_ns,thread,type,name,scope,value,tensor,access,page,flags\r\n", stdout);
  const std::uint64_t first = trace.events.empty() ? 0 : trace.events.front().time_ns;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const hearth_event& event = trace.events[i];
    const bool page = has_page(event.type);
    const std::string name = page || event.name >= trace.names.size() ? "" : quoted(trace.names[event.name]);
    std::printf("%zu,%lld,%u,%s,%s,%u,%lld,%u,%s,%s,%u\r\n", i, static_cast<long long>(event.time_ns - first),
                unsigned{event.thread}, type_name(event.type), name.c_str(), unsigned{event.scope},
                static_cast<long long>(event.value), event.tensor, access_name(event),
                page ? std::to_string(event.page).c_str() : "", unsigned{event.flags});
  }
}

void summary(const Trace& trace, const std::string& file) {
  const profile::TraceInfo& info = trace.info;
  std::map<std::uint8_t, std::uint64_t> counts;
  for (const hearth_event& event : trace.events) ++counts[event.type];
  const double span =
      trace.events.empty() ? 0 : static_cast<double>(trace.events.back().time_ns - trace.events.front().time_ns);
  std::string out = file + ": Hearth trace, version " + std::to_string(HEARTH_TRACE_VERSION) + "\n";
  out += "  command    " + info.command + "\n";
  out += "  process    pid " + std::to_string(info.pid) + " on " + info.host + ", PyTorch " + info.torch_version +
         ", hearth " + info.hearth_version + "\n";
  out += "  iteration  " + report::count_text(info.iteration) + ", mode " + info.mode + ", " + report::time_text(span) +
         "\n";
  if (!info.extrapolated.empty())
    out += "  EXTRAPOLATED " + info.extrapolated + ": bytes and times were not measured\n";
  out += "  names      " + report::count_text(trace.names.size() - 1) + "\n";
  out += "  events     " + report::count_text(trace.events.size()) + ", " + report::count_text(trace.dropped) +
         " dropped\n";
  report::Table table({{"type", report::Table::Align::left}, {"events"}});
  for (const auto& [type, count] : counts) table.add({type_name(type), report::count_text(count)});
  if (!table.empty()) table.write(out, 100);
  std::fputs(out.c_str(), stdout);
}

}  // namespace

void add_trace(CLI::App& app) {
  struct Options {
    std::string file;
    bool dump = false;
  };
  CLI::App* command = app.add_subcommand("trace", "Show what a trace file holds");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "trace written by HEARTH_TRACE")->required();
  command->add_flag("--dump", options->dump, "print every event as CSV");
  command->footer(
      "\nExamples:\n  HEARTH_TRACE=t.trace hearth run -- python train.py; hearth trace t.trace\n"
      "  hearth trace t.trace --dump > events.csv\n  hearth report t.trace");
  command->callback([options] {
    const Result<Trace> trace = profile::read_trace(options->file);
    if (!trace) fail(kFailed, trace.error());
    if (options->dump)
      dump(*trace);
    else
      summary(*trace, options->file);
  });
}

}  // namespace hearth::cli
