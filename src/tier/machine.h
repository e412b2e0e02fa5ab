// Machine: what the two tiers of a machine can do. A plain value: measured by `hearth probe`, read from a file, or a
// named preset with its published source (presets.h). The planner, the simulator and the emulated backend all reckon
// with the same Machine; a rule that is not in here is not known to any of them.
#pragma once

#include <cstdint>

namespace hearth::tier {

// Of all cores together, sequential; bytes per second, nanoseconds.
struct Speed {
  double read = 0;
  double write = 0;
  double latency_ns = 0;  // of an idle, dependent read

  bool operator==(const Speed&) const = default;
};

struct Machine {
  char name[64] = {};
  Speed fast;
  Speed slow;
  double move_to_fast = 0;  // bytes per second of page moves beside running compute
  double move_to_slow = 0;
  double gemm = 0;               // float32 FLOP/s of all cores together, of a large matrix product
  double fault_ns = 0;           // first touch of a 4 KiB page
  double outstanding = 10;       // misses that one core keeps in flight: what divides the latency of a gather
  double interference = 0;       // part of the time of a concurrent move by which a memory-bound op becomes longer
  bool keeps_copies = false;     // as tier/backend.h has it: pages not written since they were fetched go back for free
  std::uint32_t cores = 0;       // that the figures are for
  std::uint64_t fast_bytes = 0;  // capacities; 0 = not known
  std::uint64_t slow_bytes = 0;
  double scale = 1;  // of the bandwidths against those of the hardware that `name` stands for (machine/scaling.h)

  // A host that was measured has no slow tier where it has one kind of memory: all figures of it are 0 then.
  bool two_tiers() const { return slow.read > 0 && slow.write > 0 && move_to_fast > 0 && move_to_slow > 0; }
  bool operator==(const Machine&) const = default;
};

// ns that so many bytes take; none where the speed is not known.
constexpr double time_of(double bytes, double bandwidth) { return bandwidth > 0 ? bytes / bandwidth * 1e9 : 0; }

// Scattered reads of single cache lines per second, of all cores together, that the latency of one tier allows. (No
// tier reads more than its bandwidth, which the caller sees to.)
constexpr double gathers_per_second(const Machine& machine, const Speed& tier) {
  return machine.outstanding * machine.cores / (tier.latency_ns * 1e-9);
}

}  // namespace hearth::tier
