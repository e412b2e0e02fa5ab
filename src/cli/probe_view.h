// What `hearth probe` measured, as JSON and for reading. Pure; main thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine/probe.h"

namespace hearth::cli {

// The "measured" part of machine.json.
nlohmann::ordered_json measured_facts(const machine::Measured& measured, bool quick);

std::string measured_text(const machine::Measured& measured);

// A Machine in one table; `what` heads it.
std::string machine_text(const tier::Machine& machine, const std::string& what);

// The presets and where their figures come from.
std::string presets_text();
nlohmann::ordered_json presets_facts();

}  // namespace hearth::cli
