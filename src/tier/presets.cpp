#include "tier/presets.h"

#include <algorithm>

namespace hearth::tier {
namespace {

constexpr double kGB = 1e9;

// Rule 1: of the peak of its channels or links, DRAM and processor links deliver this much to many cores that read, and
// half of the peak to cores that write.
constexpr double kReadOfPeak = 0.82;
constexpr double kWriteOfPeak = 0.5;
// Rule 2: a large float32 product reaches this much of cores x 64 FLOP per cycle (two AVX-512 units) x clock.
constexpr double kGemmOfPeak = 0.8;

constexpr Speed of_peak(double peak, double latency_ns) {
  return {kReadOfPeak * peak, kWriteOfPeak * peak, latency_ns};
}

constexpr double gemm_rate(std::uint32_t cores, double clock_hz) { return kGemmOfPeak * cores * 64 * clock_hz; }

// Page moves by few threads beside the program: what AutoTM's planner reckons with (ASPLOS'20, its published code).
constexpr double kMoveToFast = 2.0 * kGB;
constexpr double kMoveToSlow = 2.5 * kGB;

constexpr double kXeon2Dram = 6 * 21.3 * kGB;    // six channels DDR4-2666
constexpr double kXeon4Dram = 8 * 35.2 * kGB;    // eight channels DDR5-4400
constexpr double kXeonMaxDram = 8 * 38.4 * kGB;  // eight channels DDR5-4800
constexpr double kUpi = 3 * 20.8 * kGB;          // three links of 10.4 GT/s, one direction
constexpr Speed kXeonMaxSlow = of_peak(kXeonMaxDram, 110);

constexpr Preset kPresets[] = {
    {{.name = "optane-100",
      .fast = of_peak(kXeon2Dram, 101),
      .slow = {39.4 * kGB, 13.9 * kGB, 305},
      .move_to_fast = kMoveToFast,
      .move_to_slow = kMoveToSlow,
      .gemm = gemm_rate(24, 2.2e9),
      .fault_ns = 500,
      .outstanding = 12,
      .interference = (kMoveToFast + kMoveToSlow) / 2 / (kReadOfPeak * kXeon2Dram),
      .cores = 24,
      .fast_bytes = 0,
      .slow_bytes = 0,
      .scale = 1},
     "Optane PMem 100, six modules on a socket, behind DDR4 of a 24-core 2nd generation Xeon",
     "slow tier: read 39.4 GB/s, write 13.9 GB/s, random read 305 ns, three times that of local DRAM, on 24 cores at "
     "2.2 GHz (Izraelevitz et al., Basic Performance Measurements of the Intel Optane DC PMM, arXiv:1903.05714); moves "
     "2.0 GB/s to fast, 2.5 GB/s to slow (constants of AutoTM, ASPLOS'20)",
     "DRAM: 82 % and 50 % of the peak of six channels DDR4-2666; float32 product: 80 % of 24 x 64 x 2.2 GHz; 12 misses "
     "in "
     "flight per core: its line fill buffers; page fault 500 ns and interference (moves take their bandwidth from "
     "DRAM): "
     "assumed"},
    {{.name = "cxl-x8",
      .fast = of_peak(kXeon4Dram, 110),
      .slow = {0.75 * 32 * kGB, 0.75 * 32 * kGB, 250},
      .move_to_fast = kMoveToFast,
      .move_to_slow = kMoveToSlow,
      .gemm = gemm_rate(32, 2.1e9),
      .fault_ns = 500,
      .outstanding = 16,
      .interference = (kMoveToFast + kMoveToSlow) / 2 / (kReadOfPeak * kXeon4Dram),
      .cores = 32,
      .fast_bytes = 0,
      .slow_bytes = 0,
      .scale = 1},
     "a CXL memory expander on eight PCIe 5.0 lanes, behind DDR5 of a 32-core 4th generation Xeon",
     "latency of real expanders: 2 to 5 times that of local DRAM (Liu et al., Exploring and Evaluating Real-world CXL, "
     "arXiv:2405.14209); eight lanes of 32 GT/s: 32 GB/s in each direction (PCI Express 5.0)",
     "link: 75 % of it after CXL.mem framing and headers; 250 ns: the better end of the published range; DRAM 110 ns, "
     "82 % "
     "and 50 % of the peak of eight channels DDR5-4400; float32 product: 80 % of 32 x 64 x 2.1 GHz; 16 misses in "
     "flight "
     "per core; moves as on optane-100, where the kernel and not the medium sets the pace; page fault 500 ns: assumed"},
    {{.name = "far-socket",
      .fast = of_peak(kXeon2Dram, 101),
      .slow = of_peak(kUpi, 161),
      .move_to_fast = kMoveToFast,
      .move_to_slow = kMoveToSlow,
      .gemm = gemm_rate(24, 2.2e9),
      .fault_ns = 500,
      .outstanding = 12,
      .interference = (kMoveToFast + kMoveToSlow) / 2 / (kReadOfPeak * kXeon2Dram),
      .cores = 24,
      .fast_bytes = 0,
      .slow_bytes = 0,
      .scale = 1},
     "DDR4 of the other socket, over three UPI links, 24-core 2nd generation Xeon",
     "three links of 10.4 GT/s, 20.8 GB/s each in each direction (data sheet of the processor)",
     "82 % and 50 % of the links' peak; one hop costs 60 ns; all else as on optane-100"},
    {{.name = "hbm-ddr5",
      .fast = {2.3 * kXeonMaxSlow.read, 3.5 * kXeonMaxSlow.write, 130},
      .slow = kXeonMaxSlow,
      .move_to_fast = kMoveToFast,
      .move_to_slow = kMoveToSlow,
      .gemm = gemm_rate(56, 1.9e9),
      .fault_ns = 500,
      .outstanding = 16,
      .interference = (kMoveToFast + kMoveToSlow) / 2 / (kReadOfPeak * kXeonMaxDram),
      .cores = 56,
      .fast_bytes = std::uint64_t{64} << 30,
      .slow_bytes = 0,
      .scale = 1},
     "HBM2e of a 56-core Xeon Max (flat mode) before its DDR5, which is the slow tier",
     "HBM against DDR5 of the same processor: 2.3 times the read bandwidth, 3.5 times STREAM; peaks 1638 and 307 GB/s "
     "(McCalpin, Bandwidth Limits in the Intel Xeon Max Processors, ISC 2023 IXPUG workshop); 64 GB of HBM",
     "DDR5: 82 % and 50 % of the peak of eight channels DDR5-4800, HBM by the published ratios (STREAM's for writes); "
     "latencies 110 and 130 ns; float32 product: 80 % of 56 x 64 x 1.9 GHz; all else as on cxl-x8"},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPresets), std::end(kPresets),
                                         [&](const Preset& preset) { return name == preset.machine.name; });
  return found != std::end(kPresets) ? found : nullptr;
}

}  // namespace hearth::tier
