// Session: what a process being observed leaves behind: JSON report, trace file, text summary.
//
// The seam between the hot runtime and the cold code that allocates: every function here catches what is thrown below
// it, says one line and leaves the program alone. open/conclude/finish: thread that runs the iterations, or exit;
// publish: any thread, async-signal-safe. A Session is made once and never destroyed.
#pragma once

#include <cstdint>
#include <span>

#include "config/knobs.h"
#include "hearth/trace.h"
#include "profile/profile.h"
#include "report/facts.h"
#include "trace/names.h"

namespace hearth::report {

// Of this process; fixed from the start.
struct SessionInputs {
  const config::Knobs* knobs = nullptr;
  const config::KnobOrigins* origins = nullptr;
  const trace::NameTable* names = nullptr;
  const char* torch_version = "";
  const char* adapter = "";         // file, "" if absent
  const char* adapter_absent = "";  // why
};

struct Session;

// Null if memory is short or nothing was asked for and nothing can be written.
Session* open_session(const SessionInputs& inputs) noexcept;

// Builds the profile from the events of the profiled iteration, writes the trace file and the report.
void conclude(Session& session, std::span<const hearth_event> events, const LiveFacts& live) noexcept;

// Writes the report where HEARTH_REPORT says. 0, or an errno value; ENOENT if no report was asked for.
int publish(Session& session, const LiveFacts& live) noexcept;

// Writes a report to another place. Allocates.
int publish_to(Session& session, const LiveFacts& live, const char* path) noexcept;

// The events of an iteration, seen in that mode, as another trace file. False after one line of why not.
bool write_events(const Session& session, std::span<const hearth_event> events, std::uint64_t dropped,
                  std::uint64_t iteration, const char* mode, const char* path) noexcept;

// At exit: report, and the summary on stderr if HEARTH_STATS=1.
void finish(Session& session, const LiveFacts& live) noexcept;

bool wants_report(const Session& session) noexcept;

// Of the last conclude(); null if there is none.
const profile::Profile* made_profile(const Session& session) noexcept;

}  // namespace hearth::report
