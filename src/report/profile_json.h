// The profile as JSON: tables as columns and rows, since a report holds ten thousands of ops. docs/report.md describes
// the members. Cold; allocates.
#pragma once

#include "profile/profile.h"
#include "report/facts.h"
#include "report/json.h"
#include "report/json_writer.h"

namespace hearth::report {

// In place of an op index. Negative, so that no consumer takes them for one.
constexpr std::int64_t kJsonBefore = -1, kJsonAfter = -2, kJsonOutside = -3, kJsonNone = -4;

// "profile": {...} or null.
void write_profile(JsonWriter& json, const profile::Profile* profile, const Limits& limits);

// "not_seen": what the profile cannot know, and why.
void write_not_seen(JsonWriter& json, const RunFacts& facts, const profile::Profile* profile);

}  // namespace hearth::report
