// hearth scale SIZE=TRACE SIZE=TRACE --to SIZE: the trace of a size that was never run.
#include "scale/scale.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "profile/build.h"
#include "profile/trace_file.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

struct Options {
  std::vector<std::string> measured;  // SIZE=TRACE
  double target = 0;
  std::string output;
  bool json = false;
};

struct Measured {
  double size = 0;
  profile::Trace trace;
};

Measured measured_of(const std::string& word) {
  const std::size_t sign = word.find('=');
  Measured measured;
  const char* end = word.data() + std::min(sign, word.size());
  const auto [rest, error] = std::from_chars(word.data(), end, measured.size);
  if (sign == std::string::npos || error != std::errc() || rest != end || !(measured.size > 0)) {
    fail(kUsage, word + ": not SIZE=TRACE, a number above 0 and a file (16=b16.trace)");
  }
  Result<profile::Trace> trace = profile::read_trace(word.substr(sign + 1));
  if (!trace) fail(kFailed, trace.error());
  measured.trace = std::move(*trace);
  return measured;
}

std::uint64_t peak_of(const profile::Trace& trace) {
  return profile::build(trace.events, trace.names, trace.info.thresholds, trace.dropped).peak_bytes;
}

struct Peaks {
  std::uint64_t small = 0, large = 0, target = 0;
};

std::string bytes_text(std::uint64_t bytes) { return report::bytes_text(static_cast<double>(bytes)); }

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
  out += fmt::format("peak         {}, {}; {}\n", bytes_text(peaks.small), bytes_text(peaks.large),
                     bytes_text(peaks.target));
  out += fmt::format("a step       {}, {}; {}\n", report::time_text(facts.small_ns), report::time_text(facts.large_ns),
                     report::time_text(facts.target_ns));
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

void make(const Options& options) {
  Measured small = measured_of(options.measured[0]);
  Measured large = measured_of(options.measured[1]);
  if (small.size > large.size) std::swap(small, large);
  const scale::Sizes sizes{small.size, large.size, options.target};
  if (sizes.small == sizes.large) fail(kUsage, "the two traces must be of different sizes");
  if (sizes.target <= sizes.large) fail(kUsage, "--to must be larger than both sizes that were measured");
  const Result<scale::Scaled> scaled = scale::scale(small.trace, large.trace, sizes);
  if (!scaled) fail(kFailed, scaled.error());
  const profile::Trace& trace = scaled->trace;
  const Result<void> saved = profile::write_trace(options.output, trace.info, trace.names, trace.events, trace.dropped);
  if (!saved) fail(kFailed, saved.error());
  const Peaks peaks{peak_of(small.trace), peak_of(large.trace), peak_of(trace)};
  std::string text = options.json ? json_text(sizes, scaled->facts, peaks) : table_text(sizes, scaled->facts, peaks);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail(kFailed, "cannot write to standard output");
  }
}

}  // namespace

void add_scale(CLI::App& app) {
  CLI::App* command = app.add_subcommand("scale", "Extrapolate two traces of a training to a size that was never run");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("TRACES", options->measured,
                   "two traces of one program, each with its size: 16=b16.trace 32=b32.trace")
      ->required()
      ->expected(2);
  command->add_option("--to", options->target, "the size that is asked for")->required()->check(number(0, 1e12));
  command->add_option("-o,--output", options->output, "write the trace to this file")->required();
  command->add_flag("--json", options->json, "print the figures as JSON");
  command->footer(
      "\nExamples:\n  HEARTH_TRACE=b16.trace hearth run -- train.py --batch 16\n"
      "  HEARTH_TRACE=b32.trace hearth run -- train.py --batch 32\n"
      "  hearth scale 16=b16.trace 32=b32.trace --to 2560 -o b2560.trace; hearth sweep b2560.trace");
  command->callback([options] { make(*options); });
}

}  // namespace hearth::cli
