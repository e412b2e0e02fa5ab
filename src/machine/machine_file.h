// machine.json: a Machine as a file. Written by `hearth probe`, edited by whoever knows better, read by tools and
// inside the training process (emulated tiers), where it depends on the C++ standard library alone.
//
//   {
//     "schema_version": 1,
//     "machine": {
//       "name": "...", "cores": 24, "gemm": 2.7e12, "fault_ns": 500, "outstanding": 12, "interference": 0.02, "scale":
//       1, "fast": {"read": 1.05e11, "write": 6.4e10, "latency_ns": 101, "bytes": 0}, "slow": {"read": 3.94e10,
//       "write": 1.39e10, "latency_ns": 305, "bytes": 0},   or null: one kind of memory "move_to_fast": 2e9,
//       "move_to_slow": 2.5e9
//     },
//     "measured": anything, for whoever wants to know where the figures come from
//   }
//
// Bandwidths in bytes per second. Reading is strict (nothing unknown, nothing missing, nothing impossible) and throws
// nothing; errors name file, line, column and cure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tier/machine.h"

namespace hearth::machine {

constexpr int kSchemaVersion = 1;

Result<tier::Machine> parse_machine(std::string_view text, const std::string& name) noexcept;
Result<tier::Machine> read_machine(const std::string& path) noexcept;

// `measured` is JSON; "" = null.
std::string machine_json(const tier::Machine& machine, std::string_view measured);
Result<void> write_machine(const tier::Machine& machine, std::string_view measured, const std::string& path);

}  // namespace hearth::machine
