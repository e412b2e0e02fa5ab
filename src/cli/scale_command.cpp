// hearth scale SIZE=TRACE SIZE=TRACE --to SIZE: the trace of a size that was never run.
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/scale_view.h"
#include "profile/build.h"
#include "profile/trace_file.h"
#include "scale/depth.h"
#include "scale/scale.h"

namespace hearth::cli {
namespace {

struct Options {
  std::vector<std::string> measured;  // SIZE=TRACE
  double target = 0;
  std::string output;
  bool depth = false;
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

template <typename Made>
void finish(const Options& options, const Measured& small, const Measured& large, const scale::Sizes& sizes,
            const Result<Made>& made) {
  if (!made) fail(kFailed, made.error());
  const profile::Trace& trace = made->trace;
  const Result<void> saved = profile::write_trace(options.output, trace.info, trace.names, trace.events, trace.dropped);
  if (!saved) fail(kFailed, saved.error());
  const Peaks peaks{peak_of(small.trace), peak_of(large.trace), peak_of(trace)};
  const std::string text = scale_text(sizes, made->facts, peaks, options.json);
  print(text);
}

void make(const Options& options) {
  Measured small = measured_of(options.measured[0]);
  Measured large = measured_of(options.measured[1]);
  if (small.size > large.size) std::swap(small, large);
  const scale::Sizes sizes{small.size, large.size, options.target};
  if (sizes.small == sizes.large) fail(kUsage, "the two traces must be of different sizes");
  if (sizes.target <= sizes.large) fail(kUsage, "--to must be larger than both sizes that were measured");
  if (options.depth) {
    finish(options, small, large, sizes, scale::scale_depth(small.trace, large.trace, sizes));
  } else {
    finish(options, small, large, sizes, scale::scale(small.trace, large.trace, sizes));
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
  command->add_option("-o,--output", options->output, "write the trace to this file")
      ->required()
      ->check(writable_file());
  command->add_flag("--depth", options->depth, "the sizes are numbers of layers, which are repeated");
  command->add_flag("--json", options->json, "print the figures as JSON");
  command->footer(
      "\nExamples:\n  HEARTH_TRACE=b16.trace hearth run -- train.py --batch 16\n"
      "  HEARTH_TRACE=b32.trace hearth run -- train.py --batch 32\n"
      "  hearth scale 16=b16.trace 32=b32.trace --to 2560 -o b2560.trace; hearth sweep b2560.trace\n"
      "  hearth scale 4=d4.trace 6=d6.trace --depth --to 48 -o d48.trace");
  command->callback([options] { make(*options); });
}

}  // namespace hearth::cli
