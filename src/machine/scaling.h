// A machine of another size that stands in the same ratios. Pure; any thread.
#pragma once

#include <initializer_list>

#include "tier/machine.h"

namespace hearth::machine {

// `reference` as it would be with the compute power of `host`, so that a program on the host that emulates it is as
// much bound by memory as on the reference: bytes per FLOP of both tiers, and of moves, stay the reference's.
//
//   bandwidths   times host.gemm / reference.gemm
//   latencies    as they are: one dependent read takes as long on a small machine as on a large one
//   gathers      scattered reads per FLOP stay too: the reads in flight of all cores together are scaled as bandwidths
//                are, and shared among the host's cores (`outstanding`)
//   page faults  the host's: they happen for real
//
// A host whose compute power is not known (gemm = 0) leaves the reference as it is.
inline tier::Machine scaled(const tier::Machine& reference, const tier::Machine& host) {
  tier::Machine machine = reference;
  if (host.gemm <= 0 || host.cores == 0 || reference.gemm <= 0) return machine;
  const double factor = host.gemm / reference.gemm;
  for (double* bandwidth : {&machine.fast.read, &machine.fast.write, &machine.slow.read, &machine.slow.write,
                            &machine.move_to_fast, &machine.move_to_slow}) {
    *bandwidth *= factor;
  }
  machine.outstanding = reference.outstanding * reference.cores * factor / host.cores;
  machine.cores = host.cores;
  machine.gemm = host.gemm;
  if (host.fault_ns > 0) machine.fault_ns = host.fault_ns;
  machine.scale = reference.scale * factor;
  return machine;
}

}  // namespace hearth::machine
