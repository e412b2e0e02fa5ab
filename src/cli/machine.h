// What the kernel tells about this machine's memory: nodes, pages, limits.
//
// Called by `hearth info` on the main thread. Reads /sys and /proc below `root`, so that tests can bring machines of
// their own; what is not readable is left out.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hearth::cli {

nlohmann::ordered_json describe_machine(const std::filesystem::path& root);

// Which nodes are the fast and the slow tier, given the texts of HEARTH_FAST_NODES and HEARTH_SLOW_NODES:
// {fast, slow, how}, or {null, null, problem}.
nlohmann::ordered_json describe_tiers(const std::filesystem::path& root, std::string_view fast, std::string_view slow);

}  // namespace hearth::cli
