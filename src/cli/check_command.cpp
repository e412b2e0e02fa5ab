// hearth check: is Hearth active for the PyTorch of this interpreter? Trains a small layer under the library and looks
// at Hearth's own counters, so that a preload that the loader dropped, or tensors that bypass the hook, are told.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/knob_reader.h"
#include "cli/library.h"
#include "cli/torch_probe.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::string python = "python3";
  bool json = false;
};

constexpr std::string_view kActive = "active";
constexpr std::string_view kLimited = "limited";

struct Verdict {
  int status;
  std::string_view word;
  std::string text;
};

Verdict inactive(std::string text) { return {kFailed, "inactive", std::move(text)}; }

Verdict judge_counts(const Json& facts) {
  const int made = facts.value("made", 0);
  const auto counted = facts.value("counted", std::uint64_t{0});
  const int found = facts.value("found", 0);
  const int state = facts.value("state", -1);
  if (state == HEARTH_STATE_DISABLED) return inactive("Hearth stood aside; its message says why");
  if (made == 0 || counted < static_cast<std::uint64_t>(made) || found < made) {
    return inactive(
        fmt::format("only {} of {} tensors came through the hook and {} were found by address", counted, made, found));
  }
  const std::string seen = fmt::format("{} of {} tensors came through the hook", made, made);
  const auto iterations = facts.value("iterations", std::uint64_t{0});
  if (iterations == 0) {
    return {0, kLimited, seen + ", but no training step was recognised: no adapter for this PyTorch is at work"};
  }
  return {0, kActive, fmt::format("{}; {} training steps recognised", seen, iterations)};
}

Verdict judge(const Json& facts, bool enabled) {
  if (!facts.contains("loaded")) {
    return {kUndecided, "undecided", facts.value("error", std::string("no answer from the interpreter"))};
  }
  if (!facts.value("loaded", false)) {
    return inactive("the loader did not preload libhearth.so (other architecture or C library? set-user-ID program?)");
  }
  if (facts.contains("error")) {
    return {kUndecided, "undecided", "libhearth.so is loaded, but torch is not: " + facts.value("error", "")};
  }
  if (!enabled) return inactive("HEARTH_ENABLE=0 switches Hearth off");
  return judge_counts(facts);
}

// The user's settings, without output files: a check leaves nothing behind.
Variables check_environment(const std::string& library) {
  Variables environment = inherited();
  environment["LD_PRELOAD"] = preload_first(environment["LD_PRELOAD"], library).value;
  for (const char* name : {"HEARTH_REPORT", "HEARTH_TRACE", "HEARTH_LOG_FILE", "HEARTH_STATS", "HEARTH_VERBOSE"}) {
    environment[name] = "";
  }
  environment["HEARTH_PROFILE"] = "off";
  return environment;
}

void print_text(const Json& facts, const Verdict& verdict) {
  for (const Json& message : facts.at("messages")) fmt::print("{}\n", message.get<std::string>());
  fmt::print("python   {}\n", facts.value("python", ""));
  if (facts.contains("version")) {
    fmt::print("torch    {}, C++11 ABI {}\n", facts.value("version", ""), facts.value("cxx11_abi", -1));
  }
  fmt::print("library  {}\n", facts.value("library", ""));
  fmt::print("verdict  {}: {}\n", verdict.word, verdict.text);
  const std::string active = "hearth run --stats YOUR_SCRIPT.py";
  const std::string limited = "scripts/setup --torch " + facts.value("python", "");
  fmt::print("next     {}\n", verdict.word == kActive ? active : verdict.word == kLimited ? limited : "hearth info");
}

void check(const CheckOptions& options) {
  const auto in_force = read_knobs(inherited());
  const Result<std::filesystem::path> library = find_library(in_force->knobs.library.c_str());
  if (!library) fail(kFailed, library.error());
  Json facts = probe_hook(options.python, check_environment(*library));
  facts["library"] = library->string();
  const Verdict verdict = judge(facts, in_force->knobs.enable);
  if (options.json) {
    facts["verdict"] = verdict.word;
    facts["explanation"] = verdict.text;
    fmt::print("{}\n", facts.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_text(facts, verdict);
  }
  if (verdict.status != 0) throw CLI::RuntimeError(verdict.status);
}

}  // namespace

void add_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Find out whether Hearth sees the tensors of an interpreter's PyTorch");
  command->add_option("--python", options->python, "Interpreter to check")->capture_default_str();
  command->add_flag("--json", options->json, "As JSON");
  command->footer(
      "\nExit status: 0 tensors are seen; 1 they are not; 3 there is no PyTorch to check.\n\n"
      "Examples:\n  hearth check\n  hearth check --python venv/bin/python");
  command->callback([options] { check(*options); });
}

}  // namespace hearth::cli
