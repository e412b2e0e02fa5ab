// Asks a Python interpreter which PyTorch it has, and whether that PyTorch's tensors come through libhearth.so.
//
// Called by the commands on the main thread; runs the interpreter as a child (import torch takes seconds).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/library.h"

namespace hearth::cli {

// {python, python_version, version, cxx11_abi, folder}, or {python, error}.
nlohmann::ordered_json probe_torch(const std::string& python, const Variables& environment);

// The adapter for what probe_torch found, or null.
const Adapter* matching_adapter(const std::vector<Adapter>& adapters, const nlohmann::ordered_json& torch);

// Runs a small training under `environment`, which preloads libhearth.so. Adds to what probe_torch tells:
// {loaded, hearth_version, state, made, counted, found, named, iterations, messages}.
nlohmann::ordered_json probe_hook(const std::string& python, const Variables& environment);

}  // namespace hearth::cli
