// hearth: the command-line tool.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

constexpr const char* kDescription = "Hearth shows what the tensors of an unmodified PyTorch CPU program do to memory.";

constexpr const char* kExamples = R"(
Examples:
  hearth check                                 does Hearth see tensors here?
  hearth run --stats train.py                  train, then print a summary
  hearth run --report run.json -- python3 train.py
  hearth report run.json                       classes, top tensors, memory over time
  hearth info                                  what this machine permits
  hearth probe                                 how fast its memory is

`hearth COMMAND --help` explains a command.)";

std::string version_line() {
  return fmt::format("hearth {}.{}.{}", HEARTH_VERSION_MAJOR, HEARTH_VERSION_MINOR, HEARTH_VERSION_PATCH);
}

// Letters that two words share in order: enough to guess a command among six.
std::size_t common_subsequence(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1, 0);
  for (const char letter : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = letter == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

void refuse_unknown_command(const CLI::App& app, std::string_view typed) {
  std::string best;
  std::size_t best_score = 0;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = command->get_name();
    if (name == typed) return;
    const std::size_t score = common_subsequence(typed, name);
    if (2 * score > std::max(typed.size(), name.size()) && score > best_score) {
      best = name;
      best_score = score;
    }
  }
  if (!best.empty()) fail(kUsage, fmt::format("no command {}; did you mean: hearth {}", typed, best));
  fail(kUsage,
       fmt::format("no command {}; to run a program: hearth run -- {}; to list commands: hearth --help", typed, typed));
}

int run_tool(int argc, char** argv) {
  CLI::App app(kDescription, "hearth");
  app.set_version_flag("-V,--version", version_line());
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  add_run(app);
  add_info(app);
  add_check(app);
  add_knobs(app);
  add_report(app);
  add_trace(app);
  add_plan(app);
  add_sweep(app);
  add_scale(app);
  add_probe(app);
  add_profile_ops(app);
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && !words.front().starts_with('-')) refuse_unknown_command(app, words.front());
    drop_separator(app, words);
    std::reverse(words.begin(), words.end());  // as parse() wants them
    app.parse(words);
    if (app.get_subcommands().empty()) fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "hearth: {}\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "hearth: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace

void fail(int status, const std::string& message) {
  fmt::print(stderr, "hearth: {}\n", message);
  throw CLI::RuntimeError(status);
}

}  // namespace hearth::cli

int main(int argc, char** argv) {
  const int status = hearth::cli::run_tool(argc, argv);
  if (status != 0 || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return status;
  std::fputs("hearth: cannot write to standard output\n", stderr);
  return hearth::cli::kFailed;
}
