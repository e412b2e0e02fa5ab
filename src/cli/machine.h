// What the kernel tells about this machine's memory: nodes, pages, limits.
//
// Called by `hearth info` on the main thread. Reads /sys and /proc below `root`, so that tests can bring machines of
// their own; what is not readable is left out.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace hearth::cli {

nlohmann::ordered_json describe_machine(const std::filesystem::path& root);

// "0,2-3" -> {0, 2, 3}: the kernel's and numactl's syntax. Empty if it is not that.
std::vector<int> parse_node_list(std::string_view text);

}  // namespace hearth::cli
