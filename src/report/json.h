// The JSON report, schema_version 1 (docs/report.md describes every member).
//
// Two steps, so that a report can be rewritten at any time at the price of a few write(2) calls:
//   prepare()         serialises what no longer changes: process, options, profile. Allocates. Called by the thread
//   that
//                     runs the iterations when the profile is made (and once at start, without a profile).
//   write_prepared()  writes that text and, after it, the live facts. Async-signal-safe: no allocation, no lock, no
//                     stdio; under 2 KiB of stack. Called on exit and from signal handlers.
// Both forms yield the same document: write_json is the one after the other.
#pragma once

#include <cstddef>
#include <string>

#include "profile/profile.h"
#include "report/facts.h"

namespace hearth::report {

// How much goes into the file; what is left out is summed up in "omitted" members.
struct Limits {
  std::size_t tensors = 20000;  // largest first
  std::size_t ops = 100000;
};

// The fixed part of a report, complete but for its tail. Immutable once made; the owner publishes it to the signal
// handler by one atomic pointer and keeps the former one alive.
struct Prepared {
  std::string text;
};

Prepared prepare(const RunFacts& facts, const profile::Profile* profile, const Limits& limits = {});

// 0 or an errno value.
int write_prepared(int fd, const Prepared& prepared, const LiveFacts& live);

void write_json(std::string& out, const RunFacts& facts, const profile::Profile* profile, const Limits& limits = {});

}  // namespace hearth::report
