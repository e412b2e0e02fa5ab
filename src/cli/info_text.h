// `hearth info` for reading: lays out the facts that info_command.cpp collects. The JSON form is the facts themselves.
//
// Pure; main thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hearth::cli {

std::string info_text(const nlohmann::ordered_json& facts);

// "512 B", "16 KiB", "1.5 GiB".
std::string size_text(std::uint64_t bytes);

}  // namespace hearth::cli
