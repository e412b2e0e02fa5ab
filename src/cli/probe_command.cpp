// hearth probe: measures this machine and writes machine.json, or scales a preset to it.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/knob_reader.h"
#include "cli/output.h"
#include "cli/probe_gemm.h"
#include "cli/probe_view.h"
#include "machine/load.h"
#include "machine/machine_file.h"
#include "machine/scaling.h"
#include "tier/presets.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

struct ProbeCommand {
  std::string output;
  std::string scale;
  std::string python = "python3";
  unsigned threads = 0;
  bool quick = false;
  bool json = false;
};

void progress(const std::string& text) { fmt::print(stderr, "hearth: measuring {}\n", text); }

// "AMD EPYC 7763 64-Core Processor"; what cannot be found has no name.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "this machine";
}

machine::Measured measure(const ProbeCommand& command) {
  const auto in_force = read_knobs(inherited());
  machine::ProbeOptions options;
  options.quick = command.quick;
  options.threads = command.threads;
  options.fast_nodes = in_force->knobs.fast_nodes.c_str();
  options.slow_nodes = in_force->knobs.slow_nodes.c_str();
  options.progress = progress;
  Result<machine::Measured> measured = machine::probe(options);
  if (!measured) fail(kFailed, measured.error());
  progress("the float32 matrix product");
  const GemmRate gemm = measure_gemm_rate(command.python, inherited(), measured->cores, command.quick);
  measured->gemm = gemm.flops;
  measured->gemm_by = gemm.by;
  return *measured;
}

// To standard error, so that --json stays JSON.
void write(const tier::Machine& machine, const std::string& measured, const std::string& path) {
  std::error_code ignored;  // the error of the file itself tells more
  if (path == machine::host_path()) fs::create_directories(fs::path(path).parent_path(), ignored);
  const Result<void> written = machine::write_machine(machine, measured, path);
  if (!written) fail(kFailed, written.error());
  fmt::print(stderr, "hearth: wrote {}\n", path);
}

// Measures, leaves the result where presets look for it, or in the file that is named.
tier::Machine probe_host(const ProbeCommand& command, const std::string& path, bool shown) {
  const machine::Measured measured = measure(command);
  const tier::Machine host = machine::machine_of(measured, processor_name());
  if (host.fast.read == 0)
    fail(kFailed, "the fast memory could not be measured: " + measured.memory.front().bandwidths.back().problem);
  const std::string facts = measured_facts(measured, command.quick).dump(2);
  if (!path.empty()) write(host, facts, path);
  if (shown) print(command.json ? machine::machine_json(host, facts) : measured_text(measured));
  return host;
}

// Figures of a part of the processors are nobody's but who asks for them.
std::string place_of(const ProbeCommand& command) {
  if (!command.output.empty() && command.scale.empty()) return command.output;
  return command.threads == 0 ? machine::host_path() : "";
}

tier::Machine known_host(const ProbeCommand& command) {
  const std::string path = machine::host_path();
  if (access(path.c_str(), R_OK) != 0) return probe_host(command, place_of(command), false);
  const Result<tier::Machine> host = machine::read_machine(path);
  if (!host) fail(kFailed, host.error());
  if (command.threads != 0 && host->cores != command.threads) return probe_host(command, place_of(command), false);
  fmt::print(stderr, "hearth: this machine as measured in {}; to measure it again: hearth probe\n", path);
  return *host;
}

void scale(const ProbeCommand& command) {
  const tier::Preset* preset = tier::find_preset(command.scale);
  if (preset == nullptr) fail(kUsage, machine::load_machine(command.scale, nullptr).error());
  const tier::Machine scaled = machine::scaled(preset->machine, known_host(command));
  if (!command.output.empty()) write(scaled, "", command.output);
  if (command.json) return print(machine::machine_json(scaled, ""));
  std::string text = machine_text(scaled, fmt::format("{}, scaled to {} cores of {:.0f} GFLOP/s", preset->machine.name,
                                                      scaled.cores, scaled.gemm / 1e9));
  const std::string named = command.output.empty() ? command.scale : command.output;
  print(text +
        fmt::format("\nUse it:  hearth run --set HEARTH_TIERS=emulated --set HEARTH_MACHINE={} -- PROGRAM\n", named));
}

void probe(const ProbeCommand& command) {
  if (!command.scale.empty()) return scale(command);
  probe_host(command, place_of(command), true);
}

}  // namespace

void add_probe(CLI::App& app) {
  auto command = std::make_shared<ProbeCommand>();
  CLI::App* sub = app.add_subcommand("probe", "Measure the memory of this machine, or scale a preset to it");
  sub->add_option("-o,--output", command->output, "Write machine.json here instead of ~/.cache/hearth/machine.json")
      ->check(writable_file());
  sub->add_flag("--quick", command->quick, "Under ten seconds: fewer repeats, one thread and all threads only");
  sub->add_option("--scale", command->scale, "Scale this preset (hearth info --presets) to this machine, as measured");
  sub->add_option("--threads", command->threads,
                  "Of so many processors only, for programs with as many threads; stored only by -o")
      ->check(CLI::Range(1, 4096));
  sub->add_option("--python", command->python, "Interpreter whose PyTorch multiplies matrices")->capture_default_str();
  sub->add_flag("--json", command->json, "Print machine.json");
  sub->footer(
      "\nExamples:\n  hearth probe\n  hearth probe --quick --json\n  hearth probe --scale optane-100 -o optane.json");
  sub->callback([command] { probe(*command); });
}

}  // namespace hearth::cli
