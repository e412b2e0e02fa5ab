// hearth plan TRACE: where the tensors of a profiled iteration are to lie, and what that costs; with -o as a file.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autotm/autotm.h"
#include "cli/autotm_policy.h"
#include "cli/beside.h"
#include "cli/commands.h"
#include "cli/extrapolation.h"
#include "cli/numbers.h"
#include "cli/op_costs_option.h"
#include "cli/output.h"
#include "cli/plan_machine.h"
#include "config/parse.h"
#include "plan/elastic.h"
#include "plan/json_writer.h"
#include "plan/make_plan.h"
#include "plan/validate.h"
#include "policy/tiered_plan.h"
#include "profile/build.h"
#include "profile/classes.h"
#include "profile/trace_file.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

struct Options {
  std::string trace;
  std::string output;
  plan::PlanOptions plan;
  std::string fast;     // capacity; empty: one tier
  std::string machine;  // of the two tiers
  std::string policy = "sentinel";
  autotm::Options autotm;
  double step_ms = 0;        // of an iteration that is not profiled
  std::uint32_t beside = 0;  // process
  OpCostsOptions op_costs;
  bool json = false;
};

struct Facts {
  std::uint64_t planned = 0, heap = 0, heap_bytes = 0, bytes = 0;
  double seconds = 0;
};

Facts facts_of(const plan::Plan& plan, double seconds) {
  Facts facts;
  facts.seconds = seconds;
  for (const plan::Entry& entry : plan.entries) {
    if (entry.arena == plan::kHeap) {
      ++facts.heap;
      facts.heap_bytes += entry.bytes;
    } else {
      ++facts.planned;
    }
  }
  for (const plan::Arena& arena : plan.arenas) facts.bytes += arena.bytes;
  return facts;
}

double ratio(std::uint64_t height, std::uint64_t bound) {
  return bound == 0 ? 1.0 : static_cast<double>(height) / static_cast<double>(bound);
}

std::string lifetime_text(const plan::Arena& arena) {
  return arena.mixed ? "mixed" : profile::lifetime_name(arena.lifetime);
}

std::string bytes_text(std::uint64_t bytes) { return report::bytes_text(static_cast<double>(bytes)); }

std::string table_text(const plan::Plan& plan, const Facts& facts, const profile::Thresholds& thresholds) {
  const auto share = [&](std::uint64_t bytes) {
    return plan.costs.lower_bound == 0 ? std::string("-") : report::percent_text(ratio(bytes, plan.costs.lower_bound));
  };
  std::string out =
      fmt::format("allocations  {} of at least {}: {} planned, {} left to the heap ({})\n",
                  report::count_text(plan.entries.size()), bytes_text(plan.min_bytes),
                  report::count_text(facts.planned), report::count_text(facts.heap), bytes_text(facts.heap_bytes));
  out += fmt::format("memory       {}, lower bound {}, ratio {:.4f}\n", bytes_text(facts.bytes),
                     bytes_text(plan.costs.lower_bound), ratio(facts.bytes, plan.costs.lower_bound));
  if (plan.elastic)
    out += "elastic      slots have room for sizes that differ from iteration to iteration, as they do here\n";
  out += fmt::format("separation   {} more ({}) with an arena for each class\n", bytes_text(plan.costs.separation),
                     share(plan.costs.separation));
  out += fmt::format("grouping     {} more ({}) with neighbouring offsets in each class\n",
                     bytes_text(plan.costs.grouping), share(plan.costs.grouping));
  out += fmt::format("planned in   {}\n", report::time_text(facts.seconds * 1e9));
  using Align = report::Table::Align;
  report::Table table(
      {{"arena"}, {"lifetime", Align::left}, {"touches/byte"}, {"tensors"}, {"bytes"}, {"lower bound"}, {"ratio"}});
  for (std::size_t i = 0; i < plan.arenas.size(); ++i) {
    const plan::Arena& arena = plan.arenas[i];
    const std::string touches =
        arena.mixed ? "-"
                    : report::bucket_text(arena.frequency, thresholds.frequency_base, thresholds.frequency_buckets);
    table.add({std::to_string(i), lifetime_text(arena), touches, report::count_text(arena.tensors),
               bytes_text(arena.bytes), bytes_text(arena.lower_bound),
               fmt::format("{:.4f}", ratio(arena.bytes, arena.lower_bound))});
  }
  if (!table.empty()) table.write(out, 100);
  return out;
}

nlohmann::ordered_json tiers_json(const plan::Residency& residency) {
  const plan::Prediction& foreseen = residency.prediction;
  return {{"policy", residency.policy},
          {"machine", residency.machine},
          {"fast_capacity_bytes", residency.fast_capacity},
          {"simulated_step_ns", foreseen.step_ns},
          {"all_fast_ns", foreseen.all_fast_ns},
          {"all_slow_ns", foreseen.all_slow_ns},
          {"stall_ns", foreseen.stall_ns},
          {"fast_peak_bytes", foreseen.fast_peak},
          {"moves", residency.moves.size()}};
}

std::string json_text(const profile::TraceInfo& info, const plan::Plan& plan, const Facts& facts,
                      const OpCosts& op_costs, const std::vector<autotm::Facts>& rounds) {
  nlohmann::ordered_json json = {{"schema_version", plan.schema_version},
                                 {"extrapolated", extrapolation_json(info)},
                                 {"min_bytes", plan.min_bytes},
                                 {"elastic", plan.elastic},
                                 {"allocations", plan.entries.size()},
                                 {"planned", facts.planned},
                                 {"heap", facts.heap},
                                 {"heap_bytes", facts.heap_bytes},
                                 {"bytes", facts.bytes},
                                 {"lower_bound", plan.costs.lower_bound},
                                 {"ratio", ratio(facts.bytes, plan.costs.lower_bound)},
                                 {"separation_bytes", plan.costs.separation},
                                 {"grouping_bytes", plan.costs.grouping},
                                 {"seconds", facts.seconds},
                                 {"tiers", nullptr},
                                 {"op_costs", op_costs.json()},
                                 {"autotm", nullptr},
                                 {"arenas", nlohmann::ordered_json::array()}};
  if (plan.residency.present()) json["tiers"] = tiers_json(plan.residency);
  if (!rounds.empty()) json["autotm"] = autotm_json(rounds);
  for (const plan::Arena& arena : plan.arenas) {
    nlohmann::ordered_json shown = {{"lifetime", lifetime_text(arena)}, {"frequency", nullptr}};
    if (!arena.mixed) shown["frequency"] = arena.frequency;
    shown.update({{"tensors", arena.tensors}, {"bytes", arena.bytes}, {"lower_bound", arena.lower_bound}});
    json["arenas"].push_back(shown);
  }
  return json.dump(2) + "\n";
}

std::uint64_t capacity_of(const std::string& text, const profile::Profile& profile) {
  const config::Parsed parsed = config::parse_share(text);
  if (parsed.verdict != config::Verdict::ok) fail(kUsage, "--fast " + text + ": not a size or a percentage (8G, 20%)");
  return config::share_bytes(parsed.value, profile.peak_bytes);
}

// `facts`: of each round under autotm.
Result<plan::Plan> made_plan(const Options& options, const profile::Profile& profile, OpCosts* op_costs,
                             std::vector<autotm::Facts>* facts) {
  if (options.fast.empty()) return plan::make_plan(profile, options.plan);
  const tier::Machine machine = plan_machine(options.machine);
  *op_costs = OpCosts(options.op_costs, machine);
  policy::TierOptions tiers;
  tiers.fast_capacity = capacity_of(options.fast, profile);
  tiers.plan = options.plan;
  tiers.step_ns = options.step_ms * 1e6;
  if (options.policy == "tier-queue") tiers.policy = policy::Policy::tier_queue;
  const policy::Scheduler autotm = autotm_policy(options.autotm, facts);
  if (options.policy == "autotm") tiers.other = &autotm;
  tiers.again = [](int round, double bytes) {
    fmt::print(stderr, "hearth: round {}: packing takes {} more than was set aside; once more with so much less\n",
               round, report::bytes_text(bytes));
  };
  tiers.costs = [&](simulate::Workload& workload) { op_costs->apply(profile, workload); };
  return policy::tiered_plan(profile, machine, tiers);
}

std::string tiers_text(const plan::Residency& residency) {
  if (!residency.present()) return "";
  const plan::Prediction& foreseen = residency.prediction;
  const auto time = [](std::uint64_t ns) { return report::time_text(static_cast<double>(ns)); };
  return fmt::format("tiers        {} on {}: {} of {} allowed fast\n", residency.policy, residency.machine,
                     bytes_text(foreseen.fast_peak), bytes_text(residency.fast_capacity)) +
         fmt::format("foreseen     {} a step; all fast {}, all slow {} (by the simulator, not measured)\n",
                     time(foreseen.step_ns), time(foreseen.all_fast_ns), time(foreseen.all_slow_ns));
}

void make(const Options& options) {
  if (options.policy != "sentinel" && options.fast.empty()) fail(kUsage, "--policy needs --fast");
  if (options.beside != 0) end_with_process(options.beside, std::filesystem::path(options.output).parent_path());
  if (options.policy != "autotm" && !options.op_costs.path.empty()) fail(kUsage, "--op-costs needs --policy autotm");
  Result<profile::Trace> trace = profile::read_trace(options.trace);
  if (!trace) fail(kFailed, trace.error());
  profile::Profile profile =
      profile::build(trace->events, std::move(trace->names), trace->info.thresholds, trace->dropped);
  if (trace->info.elastic) profile = plan::elastic(profile, options.plan.min_bytes);
  const auto start = std::chrono::steady_clock::now();
  std::vector<autotm::Facts> rounds;
  OpCosts op_costs;
  Result<plan::Plan> plan = made_plan(options, profile, &op_costs, &rounds);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (!plan) fail(kFailed, options.trace + ": " + plan.error());
  if (options.beside != 0 && !rounds.empty() && rounds.back().sentinel) fail(kFailed, kNoBetterPlan);
  plan->elastic = trace->info.elastic;
  if (!options.output.empty()) {
    if (const Result<void> saved = plan::save_plan(*plan, options.output); !saved) fail(kFailed, saved.error());
  }
  const Facts facts = facts_of(*plan, taken.count());
  std::string text = options.json ? json_text(trace->info, *plan, facts, op_costs, rounds)
                                  : table_text(*plan, facts, trace->info.thresholds);
  if (!options.json) {
    text = extrapolation_text(trace->info) + tiers_text(plan->residency) + op_costs.text() + autotm_text(rounds) + text;
  }
  if (!options.json && facts.planned == 0) {
    text += "Nothing is planned: no tensor of the main thread of that size lived and died by the iteration.\n";
  } else if (!options.json && !options.output.empty()) {
    text += fmt::format("\nUse it:  hearth run --plan {} -- PROGRAM\n", options.output);
  }
  print(text);
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan", "Lay out the tensors of a trace's iteration in as little memory as can be");
  const auto options = std::make_shared<Options>();
  options->plan.pack.budget_ms = 5000;  // nobody's training waits here
  command->add_option("TRACE", options->trace, "trace written by HEARTH_TRACE")->required();
  command->add_option("-o,--output", options->output, "write the plan to this file")->check(writable_file());
  command->add_option("--min-size", options->plan.min_bytes, "plan tensors of at least this size, as HEARTH_MIN_SIZE")
      ->capture_default_str()
      ->transform(size_value());
  command->add_option("--fast", options->fast, "two tiers: so much fast memory, 8G or 20% of the peak");
  options->machine = "optane-100";
  command->add_option("--machine", options->machine, "their speeds: a preset (hearth info --presets) or a machine.json")
      ->capture_default_str();
  command->add_option("--policy", options->policy, "sentinel, tier-queue or autotm; with --fast")
      ->capture_default_str()
      ->check(CLI::IsMember({"sentinel", "tier-queue", "autotm"}));
  add_autotm_options(*command, options->autotm);
  add_op_costs_options(*command, options->op_costs);
  command->add_option("--lp", options->autotm.lp_file, "write autotm's program to this file, in LP format")
      ->check(writable_file());
  command->add_option("--step-ms", options->step_ms, "what a step takes that is not profiled; 0: as in the trace")
      ->check(number(0, 1e9));
  command->add_option("--beside", options->beside)->group("");  // the training that asked (HEARTH_AUTOTM)
  command->add_flag("--separate", options->plan.separate, "one arena for each class, at any price");
  command->add_flag("--json", options->json, "print the figures as JSON");
  command->footer(
      "\nExamples:\n  HEARTH_TRACE=t.trace hearth run -- python train.py; hearth plan t.trace -o plan.json\n"
      "  hearth plan t.trace --min-size 64K\n  hearth plan t.trace --separate --json\n  hearth plan t.trace --fast 20% "
      "--machine optane-100 -o plan.json\n  hearth plan t.trace --fast 20% --policy autotm --mode synchronous "
      "--time-limit 120\n  hearth plan t.trace --fast 20% --policy autotm --op-costs op-costs.json");
  command->callback([options] { make(*options); });
}

}  // namespace hearth::cli
