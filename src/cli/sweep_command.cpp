// hearth sweep TRACE: step time against the size of fast memory, by policy, as the simulator has it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/autotm_policy.h"
#include "cli/commands.h"
#include "cli/extrapolation.h"
#include "cli/numbers.h"
#include "cli/op_costs_option.h"
#include "cli/output.h"
#include "cli/plan_machine.h"
#include "cli/sweep_plot.h"
#include "config/parse.h"
#include "policy/sweep.h"
#include "profile/build.h"
#include "profile/trace_file.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

constexpr std::uint64_t kPage = 4096;

struct Options {
  std::string trace;
  std::string machine = "optane-100";
  std::uint64_t min_bytes = 16384;
  double step_ms = 0;
  std::uint32_t points = 20;
  std::vector<std::string> sizes;  // instead
  double loss = 5;
  double fast_price = 0, slow_price = 0;  // per GiB, any currency
  bool with_autotm = false;
  autotm::Options autotm;
  OpCostsOptions op_costs;
  std::string plot;
  bool json = false;
};

// Those asked for, else steps of 5 % of the peak for 20 points, the peak being the last one.
std::vector<std::uint64_t> capacities_of(const Options& options, const profile::Profile& profile) {
  std::vector<std::uint64_t> capacities;
  for (const std::string& size : options.sizes) {
    const config::Parsed parsed = config::parse_share(size);
    if (parsed.verdict != config::Verdict::ok) fail(kUsage, "--sizes " + size + ": not a size or a percentage");
    capacities.push_back(config::share_bytes(parsed.value, profile.peak_bytes));
  }
  for (std::uint32_t i = 1; options.sizes.empty() && i <= options.points; ++i) {
    capacities.push_back((profile.peak_bytes * i / options.points + kPage - 1) / kPage * kPage);
  }
  std::sort(capacities.begin(), capacities.end());
  return capacities;
}

// What the memory costs for the time of one step, relative to everything fast: fast memory of that size, and slow for
// the rest of the peak.
double cost_of(const Options& options, const profile::Profile& profile, std::uint64_t fast, double step, double best) {
  const auto peak = static_cast<double>(profile.peak_bytes);
  const double held = std::min(static_cast<double>(fast), peak);
  const double memory = held * options.fast_price + (peak - held) * options.slow_price;
  return memory * step / (peak * options.fast_price * best);
}

bool priced(const Options& options) { return options.fast_price > 0; }

std::string times_text(double step, double best) { return fmt::format("{:.2f}", step / best); }

std::string table_text(const Options& options, const profile::TraceInfo& info, const profile::Profile& profile,
                       const tier::Machine& machine, const policy::Sweep& swept) {
  const double best = swept.all_fast_ns;
  std::string out = extrapolation_text(info);
  out += fmt::format("machine      {}{}\n", machine.name,
                     machine.scale == 1 ? "" : fmt::format(", bandwidths scaled by {:.4f}", machine.scale));
  out += fmt::format("peak         {} of tensors\n", report::bytes_text(static_cast<double>(profile.peak_bytes)));
  out +=
      fmt::format("a step       {} with everything fast, {} with everything slow ({}x); simulated, not measured\n\n",
                  report::time_text(best), report::time_text(swept.all_slow_ns), times_text(swept.all_slow_ns, best));
  std::vector<report::Table::Column> columns = {{"fast memory"}, {"of peak"}};
  for (const std::string& policy : swept.policies) columns.push_back({policy});
  columns.insert(columns.end(), {{"moved a step"}, {"used slow"}, {"fast on average"}});
  if (priced(options)) columns.push_back({"cost a step"});
  report::Table table(columns);
  for (const policy::SweepPoint& point : swept.points) {
    std::vector<std::string> cells = {
        report::bytes_text(static_cast<double>(point.fast_bytes)),
        report::percent_text(static_cast<double>(point.fast_bytes) / static_cast<double>(profile.peak_bytes))};
    for (const double step : point.step_ns) cells.push_back(times_text(step, best));
    cells.push_back(report::bytes_text(point.moved_bytes));
    cells.push_back(report::bytes_text(point.slow_bytes));
    cells.push_back(report::bytes_text(point.fast_average));
    if (priced(options)) {
      const double step = point.step_ns.back();
      cells.push_back(fmt::format("{:.2f}", cost_of(options, profile, point.fast_bytes, step, best)));
    }
    table.add(cells);
  }
  table.write(out, 140);
  out += "\nTimes are multiples of everything fast; the three columns behind them are of " + swept.policies.back();
  out += priced(options) ? ", and so is the cost, a multiple of all memory fast.\n" : ".\n";
  const std::size_t knee = swept.knee(options.loss / 100);
  if (knee < swept.points.size()) {
    out += fmt::format("\nWith {} of fast memory ({}) {} is within {:g} % of everything fast.\n",
                       report::bytes_text(static_cast<double>(swept.points[knee].fast_bytes)),
                       report::percent_text(static_cast<double>(swept.points[knee].fast_bytes) /
                                            static_cast<double>(profile.peak_bytes)),
                       swept.policies.back(), options.loss);
  } else {
    out += fmt::format("\nAt no point is {} within {:g} % of everything fast.\n", swept.policies.back(), options.loss);
  }
  return out;
}

std::string json_text(const Options& options, const profile::TraceInfo& info, const profile::Profile& profile,
                      const tier::Machine& machine, const policy::Sweep& swept, std::size_t ops,
                      const OpCosts& op_costs, const std::vector<autotm::Facts>& facts) {
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"simulated", true},
                                 {"extrapolated", extrapolation_json(info)},
                                 {"machine", machine.name},
                                 {"scale", machine.scale},
                                 {"peak_bytes", profile.peak_bytes},
                                 {"ops", ops},
                                 {"op_costs", op_costs.json()},
                                 {"all_fast_ns", swept.all_fast_ns},
                                 {"all_slow_ns", swept.all_slow_ns},
                                 {"loss_percent", options.loss},
                                 {"knee_fast_bytes", nullptr},
                                 {"points", nlohmann::ordered_json::array()}};
  const std::size_t knee = swept.knee(options.loss / 100);
  if (knee < swept.points.size()) json["knee_fast_bytes"] = swept.points[knee].fast_bytes;
  for (std::size_t at = 0; at < swept.points.size(); ++at) {
    const policy::SweepPoint& point = swept.points[at];
    nlohmann::ordered_json shown = {{"fast_bytes", point.fast_bytes}, {"step_ns", nlohmann::ordered_json::object()}};
    for (std::size_t i = 0; i < swept.policies.size(); ++i) shown["step_ns"][swept.policies[i]] = point.step_ns[i];
    shown["moved_bytes"] = point.moved_bytes;
    shown["slow_bytes_used"] = point.slow_bytes;
    shown["fast_average_bytes"] = point.fast_average;
    if (priced(options)) {
      const double step = point.step_ns.back();
      shown["cost"] = cost_of(options, profile, point.fast_bytes, step, swept.all_fast_ns);
    }
    if (at < facts.size()) shown["autotm"] = autotm_json({facts[at]});
    json["points"].push_back(shown);
  }
  return json.dump(2) + "\n";
}

void sweep(const Options& options) {
  if (!options.with_autotm && !options.op_costs.path.empty()) fail(kUsage, "--op-costs needs --autotm");
  if (options.slow_price > 0 && options.fast_price <= 0) fail(kUsage, "--slow-price needs --fast-price");
  Result<profile::Trace> trace = profile::read_trace(options.trace);
  if (!trace) fail(kFailed, trace.error());
  const profile::Profile profile =
      profile::build(trace->events, std::move(trace->names), trace->info.thresholds, trace->dropped);
  if (profile.peak_bytes == 0) fail(kFailed, options.trace + ": no tensor lives in its iteration");
  const tier::Machine machine = plan_machine(options.machine);
  simulate::Workload workload =
      simulate::make_workload(profile, {.min_bytes = options.min_bytes, .step_ns = options.step_ms * 1e6});
  OpCosts op_costs(options.op_costs, machine);
  op_costs.apply(profile, workload);
  const std::vector<std::uint64_t> capacities = capacities_of(options, profile);
  std::vector<autotm::Facts> facts;
  const policy::Scheduler autotm = autotm_policy(options.autotm, &facts);
  const policy::Scheduler* other = options.with_autotm ? &autotm : nullptr;
  const bool watched = isatty(STDERR_FILENO) == 1;
  const Result<policy::Sweep> made = policy::sweep(workload, machine, capacities, other, [&](std::size_t done) {
    const bool last = done == capacities.size();
    if (!last && !watched) return;  // a log file would show them all, in one line
    fmt::print(stderr, "hearth: {} of {} sizes{}", done, capacities.size(), last ? "\n" : "\r");
    std::fflush(stderr);
  });
  if (!made) fail(kFailed, made.error());
  const policy::Sweep& swept = *made;
  if (!options.plot.empty()) {
    if (const Result<void> drawn = plot_sweep(swept, profile.peak_bytes, options.plot); !drawn) {
      fail(kFailed, drawn.error());
    }
  }
  const std::string text =
      options.json ? json_text(options, trace->info, profile, machine, swept, workload.ops.size(), op_costs, facts)
                   : op_costs.text() + table_text(options, trace->info, profile, machine, swept);
  print(text);
}

}  // namespace

void add_sweep(CLI::App& app) {
  CLI::App* command = app.add_subcommand("sweep", "Simulate a traced training with more and less fast memory");
  const auto options = std::make_shared<Options>();
  command->add_option("TRACE", options->trace, "trace written by HEARTH_TRACE")->required();
  command->add_option("--machine", options->machine, "speeds of the two tiers: a preset or a machine.json")
      ->capture_default_str();
  command->add_option("--points", options->points, "sizes of fast memory, up to the peak of the tensors")
      ->capture_default_str()
      ->check(CLI::Range(1, 200));
  command->add_option("--sizes", options->sizes, "these instead: 8G,20%")->delimiter(',');
  command->add_option("--loss", options->loss, "name the smallest size at which so many percent are lost at most")
      ->capture_default_str()
      ->check(number(0, 1000));
  command->add_option("--step-ms", options->step_ms, "what a step takes that is not profiled; 0: as in the trace")
      ->check(number(0, 1e9));
  command
      ->add_option("--fast-price", options->fast_price,
                   "of a GiB of fast memory, in any currency: adds what a step costs")
      ->check(number(0, 1e9));
  command->add_option("--slow-price", options->slow_price, "of a GiB of slow memory")->check(number(0, 1e9));
  command->add_option("--min-size", options->min_bytes, "place tensors of at least this size, as HEARTH_MIN_SIZE")
      ->capture_default_str()
      ->transform(size_value());
  options->autotm.seconds = 4;  // of each size
  options->autotm.slots = 96;
  command->add_flag("--autotm", options->with_autotm, "autotm too, the best of all: some seconds for each size");
  add_autotm_options(*command, options->autotm);
  add_op_costs_options(*command, options->op_costs);
  command->add_option("--plot", options->plot, "draw it in this file, as SVG")->check(writable_file());
  command->add_flag("--json", options->json, "print the figures as JSON");
  command->footer(
      "\nExamples:\n  hearth run --trace t.trace -- train.py; hearth sweep t.trace\n"
      "  hearth sweep t.trace --machine cxl-x8 --fast-price 4 --slow-price 1.9 --json\n"
      "  hearth sweep t.trace --autotm --time-limit 10 --plot sweep.svg\n"
      "  hearth sweep t.trace --autotm --op-costs op-costs.json");
  command->callback([options] { sweep(*options); });
}

}  // namespace hearth::cli
