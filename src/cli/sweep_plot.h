// A sweep as a picture: step time against the size of fast memory, a line for each policy, in one SVG file.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "policy/sweep.h"

namespace hearth::cli {

Result<void> plot_sweep(const policy::Sweep& swept, std::uint64_t peak_bytes, const std::string& path);

}  // namespace hearth::cli
