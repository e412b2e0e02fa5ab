// hearth profile-ops: what each op of a training takes by where its operands lie, measured in the training itself.
//
// The program is run under plans in which this or that lies slow (costs/rounds.h); the runtime leaves the times of each
// (runtime/op_times.h), which are kept in a file as they come. What the file has is not measured again.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/knob_reader.h"
#include "cli/library.h"
#include "cli/numbers.h"
#include "cli/op_costs_view.h"
#include "cli/output.h"
#include "cli/plan_machine.h"
#include "cli/program.h"
#include "costs/cost_file.h"
#include "costs/study.h"
#include "costs/summary.h"
#include "machine/machine_file.h"
#include "plan/json_writer.h"
#include "policy/tiered_plan.h"
#include "profile/build.h"
#include "profile/crc32.h"
#include "profile/trace_file.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kExample = "hearth profile-ops -- python3 train.py";
constexpr std::size_t kPlansOfRun = 8;  // that one run follows (runtime/managed.h: kPlans)
constexpr std::size_t kIterations = 5;  // timed under each (runtime/op_times.h)
constexpr int kInterrupted = 130;

struct Options {
  std::string costs = "op-costs.json";
  std::string trace;
  std::string machine = "optane-100";
  std::string tiers = "auto";
  std::uint64_t min_bytes = 16384;
  bool again = false;
  bool to_end = false;
  bool json = false;
};

volatile sig_atomic_t g_interrupted = 0;

void interrupt(int) { g_interrupted = 1; }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

// A folder for the time of the command.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "hearth-ops-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail(kFailed, "no temporary folder can be made: " + pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

profile::Profile profile_of(const fs::path& path) {
  Result<profile::Trace> trace = profile::read_trace(path);
  if (!trace) fail(kFailed, trace.error());
  return profile::build(trace->events, std::move(trace->names), trace->info.thresholds, trace->dropped);
}

// The user's settings but for those that this is about, and without output files.
Variables environment_for(const Options& options, const Variables& changes) {
  Variables environment = inherited();
  const auto in_force = read_knobs(environment);
  const Result<fs::path> library = find_library(in_force->knobs.library.c_str());
  if (!library) fail(kFailed, library.error());
  environment["LD_PRELOAD"] = preload_first(environment["LD_PRELOAD"], *library).value;
  for (const char* name : {"HEARTH_REPORT", "HEARTH_TRACE", "HEARTH_STATS", "HEARTH_PLAN", "HEARTH_FAST_CAPACITY",
                           "HEARTH_PROFILE_AT", "HEARTH_OP_TIMES"}) {
    environment[name] = "";
  }
  environment["HEARTH_ENABLE"] = "1";
  environment["HEARTH_MIN_SIZE"] = std::to_string(options.min_bytes);
  for (const auto& [name, value] : changes) environment[name] = value;
  return environment;
}

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

class Profiler {
 public:
  Profiler(const Options& options, std::vector<std::string> command)
      : options_(options), command_(std::move(command)), machine_(plan_machine(options.machine)) {
    // On one node the emulated tier is all there is.
    emulated_ = options.tiers == "emulated" || (options.tiers == "auto" && machine_.keeps_copies);
    costs_.machine = machine_;
    costs_.emulated = emulated_;
    read_costs();
    find_trace();
    profile_ = profile_of(trace_);
    workload_ = simulate::make_workload(profile_, {.min_bytes = options.min_bytes});
    study_ = std::make_unique<costs::Study>(profile_, workload_, machine_);
    if (study_->ops().empty()) fail(kFailed, trace_.string() + ": no op has an operand that is large enough to show");
  }

  void measure() {
    begin_ = Clock::now();
    for (std::vector<costs::Round> rounds = study_->rounds(costs_.table); !rounds.empty();
         rounds = study_->rounds(costs_.table)) {
      const std::size_t before = rounds_;
      run(rounds);
      if (g_interrupted != 0) {
        fmt::print(stderr, "hearth: interrupted; {} has what was measured, and the same command goes on from there\n",
                   options_.costs);
        throw CLI::RuntimeError(kInterrupted);
      }
      if (rounds_ == before) fail(kFailed, why_nothing_);
    }
  }

  std::string told() const {
    const costs::Summary summary = costs::summarize(*study_, costs_.table, workload_, machine_);
    const ProfiledOps profiled{costs_, *study_, summary, options_.costs, trace_.string(), runs_, rounds_};
    return options_.json ? op_costs_json(profiled).dump(2) + "\n" : op_costs_text(profiled);
  }

 private:
  void read_costs() {
    if (options_.again || !fs::exists(options_.costs)) return;
    Result<costs::CostFile> known = costs::read_costs(options_.costs);
    if (!known) fail(kFailed, known.error());
    if (const std::string why = costs::foreign(*known, machine_); !why.empty()) {
      fail(kFailed, options_.costs + ": " + why);
    }
    if (known->emulated != emulated_) {
      fail(kFailed, fmt::format("{}: was measured on {}; name another file with --costs", options_.costs,
                                known->emulated ? "an emulated tier, and this is none" : "real nodes"));
    }
    costs_.table = std::move(known->table);
  }

  // Of this command line, beside the costs: what a second call has no program to run for.
  void find_trace() {
    if (!options_.trace.empty()) {
      trace_ = options_.trace;
    } else {
      std::string words = std::to_string(options_.min_bytes);
      for (const std::string& word : command_) words += '\0' + word;
      profile::Crc32 name;
      name.add(words.data(), words.size());
      trace_ = fs::path(options_.costs).replace_extension(fmt::format("{:08x}.trace", name.value()));
    }
    if (fs::exists(trace_) && !options_.again) {
      fmt::print(stderr, "hearth: ops as traced in {}; --again traces and measures anew\n", trace_.string());
      return;
    }
    const Folder folder;
    const fs::path made = folder / "t.trace";
    fmt::print(stderr, "hearth: tracing an iteration\n");
    Program program(command_, environment_for(options_, {{"HEARTH_PROFILE", "ops"},
                                                         {"HEARTH_PLAN", "off"},
                                                         {"HEARTH_TIERS", "single"},
                                                         {"HEARTH_TRACE", made}}));
    ++runs_;
    const bool complete = wait_for(program, [&] { return fs::exists(made); });
    end(program);
    if (g_interrupted != 0) throw CLI::RuntimeError(kInterrupted);
    if (!complete) {
      const std::string failure = program.failure();
      fail(kFailed, failure.empty() ? "the program ended before an iteration was traced; let it run for six or more"
                                    : "the program failed: " + failure);
    }
    std::error_code error;
    fs::copy_file(made, trace_, fs::copy_options::overwrite_existing, error);
    if (error) fail(kFailed, trace_.string() + ": cannot be written");
  }

  template <class Done>
  bool wait_for(Program& program, const Done& done) {
    while (g_interrupted == 0) {
      if (done()) return true;
      if (!program.running()) return done();
      nap();
    }
    return false;
  }

  // Lets it go on only if that is asked for.
  void end(Program& program) {
    while (options_.to_end && g_interrupted == 0 && program.running()) nap();
    program.stop();
  }

  // One run of the program, under the first of the placements.
  void run(const std::vector<costs::Round>& rounds) {
    const Folder folder;
    const fs::path machine = folder / "machine.json";
    if (const Result<void> written = machine::write_machine(machine_, "", machine); !written) {
      fail(kFailed, written.error());
    }
    const std::size_t plans = std::min(rounds.size(), kPlansOfRun);
    for (std::size_t i = 0; i < plans; ++i) write_plan(rounds[i], folder / fmt::format("plan-{}.json", i));
    if (rounds_ == 0) {
      fmt::print(stderr, "hearth: {} placements of the iteration to measure, {} in a run of the program\n",
                 rounds.size(), kPlansOfRun);
    }
    Program program(command_, environment_for(options_, {{"HEARTH_PROFILE", "off"},
                                                         {"HEARTH_TIERS", emulated_ ? "emulated" : "numa"},
                                                         {"HEARTH_MACHINE", machine},
                                                         {"HEARTH_POLICY", "all-fast"},
                                                         {"HEARTH_OP_TIMES", folder.path()}}));
    ++runs_;
    why_nothing_ = fmt::format(
        "the program ended before the ops of an iteration were timed: it is to run for ten iterations at least, and "
        "they are to be alike");
    std::size_t next = 0;
    const auto take_all = [&] {
      while (next < plans && take(folder, next, rounds[next], rounds.size())) ++next;
      return next == plans || fs::exists(folder / "done");
    };
    wait_for(program, take_all);
    end(program);
    take_all();
    if (const std::string failure = program.failure(); !failure.empty() && g_interrupted == 0) {
      fail(kFailed, "the program failed: " + failure);
    }
  }

  // The times under a plan, once they are all there.
  bool take(const Folder& folder, std::size_t plan, const costs::Round& round, std::size_t of) {
    const auto path = [&](std::size_t i) { return folder / fmt::format("times-{}-{}.trace", plan, i); };
    if (!fs::exists(path(kIterations - 1))) return false;
    bool same = true;
    for (std::size_t i = 0; i < kIterations; ++i) {
      same = study_->take(profile_of(path(i)), round, costs_.table) && same;
    }
    if (!same) {
      why_nothing_ = "its iterations run other ops than " + trace_.string() +
                     " has: are they alike? Has the program changed (--again)?";
      return true;
    }
    ++rounds_;
    if (const Result<void> saved = costs::write_costs(costs_, options_.costs); !saved) fail(kFailed, saved.error());
    const std::size_t left = of - plan - 1;
    const std::chrono::duration<double> taken = Clock::now() - begin_;
    fmt::print(stderr, "hearth: {} placements measured, {} to go{}\n", rounds_, left,
               left == 0 ? std::string()
                         : fmt::format(", about {:.0f} s",
                                       taken.count() / static_cast<double>(rounds_) * static_cast<double>(left)));
    return true;
  }

  void write_plan(const costs::Round& round, const fs::path& path) const {
    const policy::Scheduler as_asked{
        "profile-ops",
        [&](const simulate::Workload& workload, const tier::Machine&, double capacity) -> Result<simulate::Schedule> {
          simulate::Schedule schedule;
          schedule.capacity = schedule.pool = capacity;
          for (std::uint32_t i = 0; i < workload.objects.size(); ++i) {
            simulate::Piece piece{.object = i, .bytes = workload.objects[i].bytes};
            piece.begin = round[i] ? tier::Tier::slow : tier::Tier::fast;
            piece.pooled = !round[i] && !workload.objects[i].resident;  // no page comes or goes while ops are timed
            schedule.pieces.push_back(piece);
          }
          return schedule;
        }};
    policy::TierOptions how;
    how.other = &as_asked;
    how.fast_capacity = std::uint64_t{1} << 40;  // all there is
    how.plan.min_bytes = options_.min_bytes;
    how.plan.pack.budget_ms = 20;
    const Result<plan::Plan> plan = policy::tiered_plan(profile_, machine_, how);
    if (!plan) fail(kFailed, trace_.string() + ": " + plan.error());
    if (const Result<void> saved = plan::save_plan(*plan, path); !saved) fail(kFailed, saved.error());
  }

  const Options& options_;
  std::vector<std::string> command_;
  tier::Machine machine_;
  bool emulated_ = false;
  costs::CostFile costs_;
  fs::path trace_;
  profile::Profile profile_;
  simulate::Workload workload_;
  std::unique_ptr<costs::Study> study_;
  std::string why_nothing_;
  std::size_t runs_ = 0, rounds_ = 0;
  Clock::time_point begin_;
};

void profile_ops(const Options& options, const std::vector<std::string>& words) {
  catch_interrupts();
  Profiler profiler(options, command_line(words, "profile-ops", kExample));
  profiler.measure();
  const std::string text = profiler.told();
  print(text);
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: hearth profile-ops [OPTIONS] [--] COMMAND [ARGUMENTS...]\n";
  }
};

}  // namespace

void add_profile_ops(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("profile-ops", "Measure what each op of a training takes by where its operands lie");
  command->formatter(std::make_shared<Formatter>());
  command->prefix_command();
  command->add_option("--costs", options->costs, "the file of times; what it has is not measured again")
      ->capture_default_str()
      ->check(writable_file());
  command->add_option("--trace", options->trace, "of an iteration of the program; made beside the costs if not given");
  command->add_option("--machine", options->machine, "speeds of the two tiers: a preset or a machine.json")
      ->capture_default_str();
  command->add_option("--tiers", options->tiers, "auto, numa or emulated; auto: nodes where there are two kinds")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "numa", "emulated"}));
  command->add_option("--min-size", options->min_bytes, "place tensors of at least this size, as HEARTH_MIN_SIZE")
      ->capture_default_str()
      ->transform(size_value());
  command->add_flag("--again", options->again, "measure all of it anew");
  command->add_flag("--to-end", options->to_end, "let each run of the program come to its end; else it is stopped");
  command->add_flag("--json", options->json, "print the figures as JSON");
  command->footer(
      "\nThe program is run a few times; its output goes to standard error. Ctrl-C keeps what has been measured.\n"
      "\nExamples:\n  hearth profile-ops -- python3 train.py\n"
      "  hearth profile-ops --costs ops.json --machine cxl-x8 train.py --epochs 1\n"
      "  hearth plan op-costs.*.trace --fast 20% --policy autotm --op-costs op-costs.json");
  command->callback([command, options] { profile_ops(*options, command->remaining()); });
}

}  // namespace hearth::cli
