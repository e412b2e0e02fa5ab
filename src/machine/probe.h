// Probe: measures what this machine's memory and processors do, and makes a Machine of it.
//
// Called by `hearth probe`, main thread; seconds to a minute, on all processors of this process. Allocates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/bandwidth.h"
#include "machine/interference.h"
#include "machine/latency.h"
#include "machine/moves.h"
#include "tier/machine.h"
#include "tier/topology_choice.h"

namespace hearth::machine {

struct ProbeOptions {
  bool quick = false;
  unsigned threads = 0;    // that measure and compute at most; 0 = as many as there are processors
  std::string fast_nodes;  // HEARTH_FAST_NODES and HEARTH_SLOW_NODES; "" = not given
  std::string slow_nodes;
  std::function<void(const std::string&)> progress;  // what is about to be measured
};

struct MemoryMeasured {
  os::NodeMask nodes;
  std::vector<Bandwidth> bandwidths;  // by number of threads
  Latency latency;
};

struct Measured {
  unsigned cores = 0;     // whose figures these are
  std::size_t bytes = 0;  // of an area that was measured on
  tier::TierChoice choice;
  std::vector<MemoryMeasured> memory;  // each node; then the fast and the slow set, where they have several nodes
  unsigned move_from = 0;              // a fast and a slow node
  unsigned move_to = 0;
  std::vector<Moves> moves;
  Figure fault_ns;
  std::vector<Interference> interference;  // beside one thread less than there are processors, and beside as many
  Figure gemm;                             // FLOP/s; whoever measured it fills it in
  std::string gemm_by;
  std::uint64_t fast_bytes = 0;
  std::uint64_t slow_bytes = 0;

  const MemoryMeasured* of(const os::NodeMask& nodes) const;
};

// All but the matrix product. Fails where the kernel shows no memory node, or too little is free.
Result<Measured> probe(const ProbeOptions& options);

// The figures as a Machine; without a slow tier where there is one kind of memory.
tier::Machine machine_of(const Measured& measured, const std::string& name);

// One sentence: are there two kinds of memory here, and does what was measured bear out what was chosen?
std::string verdict(const Measured& measured);

// The largest spread of any bandwidth or latency: above kNoisy something else ran meanwhile.
double worst_spread(const Measured& measured);
constexpr double kNoisy = 0.25;

}  // namespace hearth::machine
