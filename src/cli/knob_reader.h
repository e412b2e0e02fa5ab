// Knobs for the tool's own use: what a program started with a given environment would read.
//
// Called by the commands on the main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "config/knobs.h"

namespace hearth::cli {

struct KnobsInForce {
  config::Knobs knobs;
  config::KnobOrigins origins;
  std::vector<std::string> problems;
};

std::unique_ptr<KnobsInForce> read_knobs(const Variables& environment);

std::string value_text(const config::Knobs& knobs, const config::KnobRow& row);

// What is wrong with `value` for the knob `name`, or with the name; empty if nothing is.
std::string problem_with(const std::string& name, const std::string& value);

}  // namespace hearth::cli
