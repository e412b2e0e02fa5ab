// What the runtime knows, for the report; and the moments at which reports are written.
#pragma once

#include <cstdint>

#include "config/knob_types.h"

namespace hearth::profile {
struct Profile;
}

namespace hearth::runtime {

// Something is not to be had here: kept for the report. Telling it (one line) is up to the caller, once: false if it
// has been here before.
bool degrade(const char* what, const char* cause, const char* cure);

// The report's and trace's destination are looked at, once, when tracking begins.
void open_outcome(const char* adapter_absent);
// The profiled iteration closed: builds its profile, writes trace and report.
void conclude_profile();
// Of the last profiled iteration; null if there is none.
const profile::Profile* made_profile();
// Median duration of the last unprofiled iterations, ns; 0 if none.
std::uint64_t median_duration();
// hearth_write_report of the public API: 0 or an errno value.
int write_report(const char* path);
// What the log holds of an iteration, seen in that mode, as a trace file. False after one line of why not.
bool write_events(std::uint64_t iteration, config::ProfileMode mode, const char* path);
// Was a report asked for (HEARTH_REPORT)?
bool report_wanted();
// Between iterations: rewrites the report when the last one is ten seconds old, for ends that nobody can catch
// (SIGKILL, out of memory, Python ending itself by SIGINT).
void refresh_report(std::uint64_t now_ns);

}  // namespace hearth::runtime
