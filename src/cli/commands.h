// The commands of the `hearth` tool: one function and one file each. main.cpp registers them.
//
// A command adds itself to the program in add_*() and does its work in the callback that it sets there, on the main
// thread. It ends normally (status 0) or by fail(). Cold code: allocates and throws freely.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hearth::cli {

void add_run(CLI::App& app);
void add_info(CLI::App& app);
void add_check(CLI::App& app);
void add_knobs(CLI::App& app);
void add_report(CLI::App& app);
void add_trace(CLI::App& app);
void add_plan(CLI::App& app);
void add_sweep(CLI::App& app);
void add_scale(CLI::App& app);
void add_probe(CLI::App& app);
void add_profile_ops(CLI::App& app);

// CLI11 refuses a "--" between the options of `run` or `profile-ops` and the command: takes it out of the words of the
// command line.
void drop_separator(CLI::App& app, std::vector<std::string>& words);

constexpr int kFailed = 1;           // the command's own "no"
constexpr int kUsage = 2;            // what was typed makes no sense
constexpr int kUndecided = 3;        // check: there is nothing to check
constexpr int kNotExecutable = 126;  // as shells do
constexpr int kNotFound = 127;

// Prints "hearth: message" on standard error and ends the program with `status`, which is not 0.
[[noreturn]] void fail(int status, const std::string& message);

}  // namespace hearth::cli
