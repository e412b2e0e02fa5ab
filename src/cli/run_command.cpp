// hearth run: the user's program with libhearth.so preloaded, in this very process (exec), so that its pid, signals and
// exit status are what they would be without us.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/knob_reader.h"
#include "cli/library.h"
#include "cli/program.h"
#include "cli/wrap.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHelpWidth = 74;

constexpr const char* kExamples = R"(
Options end where the command begins. A variable that is already set stays as it is unless its option is given.
A command that ends in .py is run by python3.

Examples:
  hearth run --stats train.py --epochs 3
  hearth run --report run.%p.json --modules -- python3 -m package.train
  hearth run --profile pages --set HEARTH_PAGES_SAMPLES=256 -- torchrun --nproc-per-node 2 train.py
  hearth run --dry-run --trace step.trace -- python3 train.py)";

// An option that sets a knob.
struct KnobOption {
  const char* flags;
  const char* value;
  const char* knob;
};

constexpr KnobOption kValueOptions[] = {
    {"-o,--report", "FILE", "HEARTH_REPORT"}, {"--trace", "FILE", "HEARTH_TRACE"},
    {"--profile", "MODE", "HEARTH_PROFILE"},  {"--profile-at", "N", "HEARTH_PROFILE_AT"},
    {"--plan", "FILE", "HEARTH_PLAN"},        {"--min-size", "SIZE", "HEARTH_MIN_SIZE"},
    {"--log", "LEVEL", "HEARTH_LOG"},         {"--log-file", "FILE", "HEARTH_LOG_FILE"},
    {"--config", "FILE", "HEARTH_CONFIG"},
};

constexpr KnobOption kSwitches[] = {
    {"-s,--stats", "", "HEARTH_STATS"},
    {"-m,--modules", "", "HEARTH_MODULES"},
    {"-v,--verbose", "", "HEARTH_VERBOSE"},
    {"--strict", "", "HEARTH_STRICT"},
};

struct RunOptions {
  Variables values;                   // by knob, of the options that were given
  std::vector<std::string> settings;  // --set
  bool dry_run = false;
};

void give(Variables& values, const std::string& name, std::string value) {
  const std::string problem = problem_with(name, value);
  if (!problem.empty()) fail(kUsage, problem);
  if (name == "HEARTH_CONFIG" && value.find('%') == std::string::npos && access(value.c_str(), R_OK) != 0) {
    fail(kUsage, fmt::format("{}: {}", value, std::strerror(errno)));
  }
  // The program may change its folder before the file is opened.
  if (config::names_a_file(*config::find_knob(name), value)) value = fs::absolute(value);
  values[name] = value;
}

Variables chosen(const RunOptions& options) {
  Variables values;
  for (const auto& [name, value] : options.values) give(values, name, value);
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) fail(kUsage, fmt::format("--set {}: expected NAME=VALUE", setting));
    give(values, setting.substr(0, equals), setting.substr(equals + 1));
  }
  return values;
}

void print_plan(const Variables& changes, const std::vector<std::string>& command) {
  fmt::print("env \\\n");
  for (const auto& [name, value] : changes) fmt::print("  {}={} \\\n", name, shell_quoted(value));
  fmt::print(" ");
  for (const std::string& word : command) fmt::print(" {}", shell_quoted(word));
  fmt::print("\n");
}

void announce_report(const config::Knobs& knobs) {
  if (isatty(STDERR_FILENO) == 0 || knobs.report.empty()) return;
  // exec keeps the pid, so the name is known already.
  char path[config::kPathCapacity];
  if (config::expand_path(knobs.report.c_str(), path, sizeof path) == 0) return;
  fmt::print(stderr, "hearth: afterwards: hearth report {}\n", shell_quoted(path));
}

[[noreturn]] void execute(const std::vector<std::string>& command, const Variables& environment) {
  const std::vector<std::string> entries = as_entries(environment);
  const std::vector<char*> environment_pointers = as_pointers(entries);
  const std::vector<char*> command_pointers = as_pointers(command);
  std::fflush(nullptr);
  execvpe(command_pointers[0], command_pointers.data(), environment_pointers.data());
  const int error = errno;
  if (error == ENOENT) fail(kNotFound, fmt::format("{}: command not found", command.front()));
  fail(kNotExecutable, fmt::format("{}: cannot be run: {}", command.front(), std::strerror(error)));
}

// The library would end the program at its first tensor; here it has not begun.
void obey_strict(const KnobsInForce& in_force) {
  if (!in_force.knobs.strict || in_force.problems.empty()) return;
  std::string text = "HEARTH_STRICT=1, and:";
  for (const std::string& problem : in_force.problems) text += "\n  " + problem;
  fail(config::kStrictExitStatus, text);
}

void run(const RunOptions& options, const std::vector<std::string>& words) {
  const std::vector<std::string> command = command_line(words, "run", "hearth run --stats train.py");
  Variables environment = inherited();
  Variables changes = chosen(options);
  for (const auto& [name, value] : changes) environment[name] = value;
  const auto in_force = read_knobs(environment);
  obey_strict(*in_force);
  const Result<fs::path> library = find_library(in_force->knobs.library.c_str());
  if (!library) fail(kFailed, library.error());
  const PreloadList preload = preload_first(environment["LD_PRELOAD"], *library);
  for (const std::string& other : preload.replaced) {
    fmt::print(stderr, "hearth: {} in LD_PRELOAD gives way to {}\n", other, library->string());
  }
  environment["LD_PRELOAD"] = changes["LD_PRELOAD"] = preload.value;
  if (options.dry_run) {
    print_plan(changes, command);
    return;
  }
  announce_report(in_force->knobs);
  execute(command, environment);
}

// The command to run is no positional of CLI11, which would look for options among its arguments.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: hearth run [OPTIONS] [--] COMMAND [ARGUMENTS...]\n";
  }
};

// What the table says, and the name to set it by otherwise.
std::string option_help(const config::KnobRow& row) {
  const std::string choices = row.kind == config::Kind::choice ? fmt::format(" [{}]", row.range) : "";
  return wrapped(fmt::format("{}{} ({})", row.help, choices, row.name), kHelpWidth);
}

void add_knob_options(CLI::App& command, const std::shared_ptr<RunOptions>& options) {
  for (const KnobOption& option : kValueOptions) {
    const std::string knob = option.knob;
    command
        .add_option_function<std::string>(
            option.flags, [options, knob](const std::string& value) { options->values[knob] = value; },
            option_help(*config::find_knob(knob)))
        ->type_name(option.value);
  }
  for (const KnobOption& option : kSwitches) {
    const std::string knob = option.knob;
    command.add_flag_callback(
        option.flags, [options, knob] { options->values[knob] = "1"; }, option_help(*config::find_knob(knob)));
  }
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a command under Hearth");
  command->formatter(std::make_shared<RunFormatter>());
  command->footer(kExamples);
  command->prefix_command();
  add_knob_options(*command, options);
  command->add_option("--set", options->settings, "Set any knob; may be repeated (`hearth knobs` lists them)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command->add_flag("-n,--dry-run", options->dry_run, "Print the command with its environment instead of running it");
  command->callback([command, options] { run(*options, command->remaining()); });
}

void drop_separator(CLI::App& app, std::vector<std::string>& words) {
  if (words.empty() || (words.front() != "run" && words.front() != "profile-ops")) return;
  CLI::App* command = app.get_subcommand(words.front());
  for (std::size_t i = 1; i < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i] == "--") {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    const CLI::Option* option = command->get_option_no_throw(words[i]);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
}

}  // namespace hearth::cli
