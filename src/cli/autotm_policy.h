// Policy autotm for the commands that plan: its options, its progress, what it tells afterwards.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autotm/autotm.h"
#include "policy/tiered_plan.h"

namespace hearth::cli {

// --mode, --time-limit, --gap, --slots.
void add_autotm_options(CLI::App& command, autotm::Options& options);

// Tells on standard error how long it has been solving; adds to `facts`, which outlives it, after each solve.
policy::Scheduler autotm_policy(const autotm::Options& options, std::vector<autotm::Facts>* facts);

// Of the last round; how many there were.
std::string autotm_text(const std::vector<autotm::Facts>& rounds);
nlohmann::ordered_json autotm_json(const std::vector<autotm::Facts>& rounds);

}  // namespace hearth::cli
