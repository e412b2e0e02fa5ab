// A command that a training started (src/runtime/planner.h): it has no use without it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace hearth::cli {

// What it prints, last, when nothing better was found than what the training has.
constexpr const char* kNoBetterPlan = "no better plan than sentinel's was found";

// When that process ends, so does this one, and the folder that the two talk through goes. Call once, on the main
// thread.
void end_with_process(std::uint32_t pid, std::filesystem::path folder);

}  // namespace hearth::cli
