// The one table of knobs: HEARTH_* variables, their types, defaults, ranges and help. Everything that shows a knob
// (docs/knobs.md, `hearth info`, HEARTH_VERBOSE, hints for misspelt names) is generated from it.
//
// Precedence, lowest first: built-in default < /etc/hearth.conf < file named by HEARTH_CONFIG < environment.
// (`hearth run` options set the environment.) A bad value warns once and keeps the default; HEARTH_STRICT=1 makes it
// fatal. Reading allocates nothing and uses no stdio: it runs inside the first tensor allocation of the user's program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::config {

enum class ProfileMode : std::uint8_t { off, ops, faults, pages };
enum class PerfMode : std::uint8_t { off, automatic, faults, precise };
enum class Origin : std::uint8_t { built_in, system_file, user_file, environment };

// HEARTH_KNOBS(X): X(field, NAME, Type, default text, range/choices text, help)
// lives in config/knob_table.h; Knobs has one member per row.
struct Knobs;  // see config/knob_table.h

}  // namespace hearth::config
