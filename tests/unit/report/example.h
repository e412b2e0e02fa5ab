// A run to report on: every fact set to something recognisable, and the profile of the golden trace.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "profile/build.h"
#include "profile/trace_file.h"
#include "report/facts.h"

namespace hearth::report::test {

inline RunFacts example_facts() {
  RunFacts facts;
  facts.pid = 4711;
  facts.host = "golden";
  facts.rank = "3";
  facts.local_rank = "1";
  facts.world_size = "4";
  facts.command = "python train.py --name \"caf\xE9\"";  // Latin-1: not UTF-8
  facts.torch_version = "2.13.0";
  facts.adapter = "/opt/libhearth_torch.so";
  facts.min_size = 1024;
  facts.knobs = {{"HEARTH_PROFILE", "faults", "default"}, {"HEARTH_MIN_SIZE", "1K", "environment"}};
  LiveFacts& live = facts.live;
  live.state = HEARTH_STATE_OBSERVE;
  live.written_because = "exit";
  live.detector_source = "optimizer";
  live.iterations_closed = 300;
  live.iterations_profiled = 1;
  live.signatures[0] = {0xABCDEF, 0x123456, 10, 6, 299};
  live.signature_count = live.signatures_cached = 1;
  live.hook_self_test = "passed";
  live.allocations = 12345;
  live.frees = 12000;
  live.live_tensors = 345;
  live.live_bytes = 12'300'000;
  live.peak_bytes = 45'600'000;
  live.guard.faults = 77;
  live.perf_status = "off";
  live.profiled = {true, 3, "faults", 3'000'000, 2'000'000, 45'000, 5'000, 71, 0};
  live.degradations[0] = {"no precise samples", "perf_event_open: EACCES", "set kernel.perf_event_paranoid to 2"};
  live.degradation_count = 1;
  return facts;
}

inline profile::Profile golden_profile() {
  const std::string here = __FILE__;
  const Result<profile::Trace> trace = profile::read_trace(here.substr(0, here.rfind("/unit/")) + "/data/small.trace");
  EXPECT_TRUE(trace) << trace.error();
  return trace ? profile::build(trace->events, trace->names, trace->info.thresholds, trace->dropped)
               : profile::Profile{};
}

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace hearth::report::test
