// Charge: how long an op takes at least, by the traffic of its operands: the roofline that the emulated backend and
// the simulator share.
//
// An op takes max(what it takes by itself on this host, the time of its traffic at the tiers' bandwidths), wherever its
// operands lie: the fast tier of a scaled machine is often slower than the host's memory. Traffic of the two tiers adds
// up, since one core's loads go through one queue; reads and writes count apart, since media differ in them (Optane
// writes at a third of its read bandwidth). A gather's rows lie anywhere: each costs a latency, of which a core hides
// all but one in `outstanding`, or its bytes' time, whichever is more. Nothing is deducted for what the caches hold:
// operands count in full. Moves take some of DRAM's bandwidth from the ops beside them: interference_ns().
//
// Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tier/machine.h"

namespace hearth::tier {

// Bytes that an op moves between core and memory, by tier.
struct Traffic {
  std::uint64_t fast_read = 0, fast_write = 0;
  std::uint64_t slow_read = 0, slow_write = 0;
  double gather_ns = 0;             // of rows gathered from either tier, or scattered into it
  std::uint64_t slow_gathered = 0;  // the bytes of the slow ones of those rows, which are not among the others

  std::uint64_t slow_bytes() const { return slow_read + slow_write + slow_gathered; }
};

// Of `rows` rows of `row_bytes` each, read from (or written to) one tier in no order.
inline double gather_ns(const Machine& machine, const Speed& tier, double rows, double row_bytes, bool write) {
  const double bandwidth = write ? tier.write : tier.read;
  if (bandwidth <= 0) return 0;
  const double cores = machine.cores != 0 ? machine.cores : 1;
  const double by_latency = rows * tier.latency_ns / (machine.outstanding * cores);
  const double by_bytes = rows * row_bytes / bandwidth * 1e9;
  return std::max(by_latency, by_bytes);
}

inline double traffic_ns(const Machine& machine, const Traffic& traffic) {
  const auto time = [](std::uint64_t bytes, double bandwidth) {
    return bandwidth > 0 ? static_cast<double>(bytes) / bandwidth * 1e9 : 0;
  };
  return time(traffic.fast_read, machine.fast.read) + time(traffic.fast_write, machine.fast.write) +
         time(traffic.slow_read, machine.slow.read) + time(traffic.slow_write, machine.slow.write) + traffic.gather_ns;
}

// By how much an op whose traffic takes so long becomes longer beside moves: where it is bound by memory. `lanes` of
// the two directions are at work, 0..2, on average over the op.
inline double interference_ns(const Machine& machine, double traffic_ns, double lanes) {
  return traffic_ns * machine.interference / 2 * lanes;
}

}  // namespace hearth::tier
