// The knobs in force: HEARTH_* variables and configuration files, read once at start-up.
//
// Precedence, lowest first: built-in default < /etc/hearth.conf < file named by HEARTH_CONFIG < environment.
// (`hearth run` options set the environment.) An empty value restores the built-in default. A bad value is one problem
// and leaves the knob as it was; with `strict` the caller ends the program with kStrictExitStatus before it has run
// anything. In setuid programs (AT_SECURE) the environment and the file that it names are ignored.
//
// load() runs inside the first tensor allocation of the user's program: it allocates nothing, takes no lock, uses no
// stdio and does not call getenv (others interpose it). Everything here may be called from any thread; the caller keeps
// Knobs constant after load().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/knob_table.h"
#include "config/problems.h"

namespace hearth::config {

struct Knobs {
#define HEARTH_KNOB_MEMBER(field, NAME, type, ...) type::Value field{};
  HEARTH_KNOBS(HEARTH_KNOB_MEMBER)
#undef HEARTH_KNOB_MEMBER
};

// Position of a knob in kKnobs and KnobOrigins.
enum class KnobIndex : std::size_t {
#define HEARTH_KNOB_INDEX(field, ...) field,
  HEARTH_KNOBS(HEARTH_KNOB_INDEX)
#undef HEARTH_KNOB_INDEX
};

inline constexpr std::array kKnobs = {
#define HEARTH_KNOB_ROW(field, NAME, type, default_text, range, help) \
  KnobRow{#NAME, type::kind, default_text, range, help, offsetof(Knobs, field)},
    HEARTH_KNOBS(HEARTH_KNOB_ROW)
#undef HEARTH_KNOB_ROW
};

struct KnobOrigins {
  Origin of[kKnobs.size()] = {};
  constexpr Origin operator[](KnobIndex index) const { return of[static_cast<std::size_t>(index)]; }
};

// sysexits.h EX_CONFIG.
constexpr int kStrictExitStatus = 78;
constexpr std::string_view kPrefix = "HEARTH_";
constexpr const char* kSystemFile = "/etc/hearth.conf";

struct Sources {
  const char* const* environment = nullptr;  // as environ; may be null
  const char* system_file = kSystemFile;     // null = none
  bool secure = false;                       // ignore the environment
};

// environ as it is now, AT_SECURE of this process.
Sources process_sources();

void load(Knobs& knobs, KnobOrigins& origins, Problems& problems, const Sources& sources);

// The value of one knob as the user would type it; returns its length. `capacity` of kPathCapacity always suffices.
std::size_t format_value(const Knobs& knobs, const KnobRow& row, char* out, std::size_t capacity);

// Not empty, and none of the words of the row that stand for something else. False for rows that are no paths.
bool names_a_file(const KnobRow& row, std::string_view value);

// "environment", "/etc/hearth.conf" ...
std::string_view origin_name(Origin origin);

// The row of that name, or null.
const KnobRow* find_knob(std::string_view name);
// The known name most like `name`, or "" if none is near.
std::string_view nearest_knob(std::string_view name);

// Replaces %p (process id), %h (host name) and %% in `pattern`; other % stay. Length of the result, 0 if it does not
// fit. Async-signal-safe.
std::size_t expand_path(std::string_view pattern, char* out, std::size_t capacity);

}  // namespace hearth::config
