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

// Rule 3: page moves are those of eight movers (the most that Hearth starts; these machines have cores to spare for
// them), each at what AutoTM's planner reckons with for a thread that copies beside the program, 2.0 GB/s to fast and
// 2.5 GB/s to slow (ASPLOS'20, its published code). The medium is the cap: on Optane what AutoTM measured for copies
// that the program waits for, 29 GB/s to fast and 12 GB/s to slow; elsewhere what the slow tier reads and writes.
constexpr double kMovers = 8;

struct Moves {
  double to_fast, to_slow;
  // Moves take their bandwidth from DRAM: the part of it that is theirs, of both directions on average.
  constexpr double share_of(double dram) const { return (to_fast + to_slow) / 2 / dram; }
};

constexpr Moves moves_within(double to_fast, double to_slow) {
  return {std::min(kMovers * 2.0 * kGB, to_fast), std::min(kMovers * 2.5 * kGB, to_slow)};
}
constexpr Moves moves_of(const Speed& slow) { return moves_within(slow.read, slow.write); }

constexpr double kXeon2Dram = 6 * 21.3 * kGB;    // six channels DDR4-2666
constexpr double kXeon4Dram = 8 * 35.2 * kGB;    // eight channels DDR5-4400
constexpr double kXeonMaxDram = 8 * 38.4 * kGB;  // eight channels DDR5-4800
constexpr double kUpi = 3 * 20.8 * kGB;          // three links of 10.4 GT/s, one direction
constexpr Speed kXeonMaxSlow = of_peak(kXeonMaxDram, 110);
constexpr Speed kCxlSlow = {0.75 * 32 * kGB, 0.75 * 32 * kGB, 250};
constexpr Speed kFarSlow = of_peak(kUpi, 161);

constexpr Moves kOptaneMoves = moves_within(29 * kGB, 12 * kGB);
constexpr Moves kCxlMoves = moves_of(kCxlSlow);
constexpr Moves kFarMoves = moves_of(kFarSlow);
constexpr Moves kHbmMoves = moves_of(kXeonMaxSlow);

constexpr Preset kPresets[] = {
    {{.name = "optane-100",
      .fast = of_peak(kXeon2Dram, 101),
      .slow = {39.4 * kGB, 13.9 * kGB, 305},
      .move_to_fast = kOptaneMoves.to_fast,
      .move_to_slow = kOptaneMoves.to_slow,
      .gemm = gemm_rate(24, 2.2e9),
      .fault_ns = 500,
      .outstanding = 12,
      .interference = kOptaneMoves.share_of(kReadOfPeak * kXeon2Dram),
      .cores = 24,
      .fast_bytes = 0,
      .slow_bytes = 0,
      .scale = 1},
     "Optane PMem 100, six modules on a socket, behind DDR4 of a 24-core 2nd generation Xeon",
     "slow tier: read 39.4 GB/s, write 13.9 GB/s, random read 305 ns, three times that of local DRAM, on 24 cores at "
     "2.2 GHz (Izraelevitz et al., Basic Performance Measurements of the Intel Optane DC PMM, arXiv:1903.05714); moves "
     "by one thread beside the program 2.0 GB/s to fast, 2.5 GB/s to slow, by many that it waits for 29 and 12 GB/s "
     "(AutoTM, ASPLOS'20)",
     "moves: eight movers at 2.0 and 2.5 GB/s each, 16 GB/s to fast and, capped by the 12 GB/s that the medium takes, "
     "12 "
     "to slow; DRAM: 82 % and 50 % of the peak of six channels DDR4-2666; float32 product: 80 % of 24 x 64 x 2.2 GHz; "
     "12 misses in flight per core: its line fill buffers; page fault 500 ns and interference (moves take their "
     "bandwidth from DRAM): assumed"},
    {{.name = "cxl-x8",
      .fast = of_peak(kXeon4Dram, 110),
      .slow = kCxlSlow,
      .move_to_fast = kCxlMoves.to_fast,
      .move_to_slow = kCxlMoves.to_slow,
      .gemm = gemm_rate(32, 2.1e9),
      .fault_ns = 500,
      .outstanding = 16,
      .interference = kCxlMoves.share_of(kReadOfPeak * kXeon4Dram),
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
     "flight per core; moves: eight movers as on optane-100, 16 GB/s to fast and 20 to slow, below the link's 24; page "
     "fault 500 ns: assumed"},
    {{.name = "far-socket",
      .fast = of_peak(kXeon2Dram, 101),
      .slow = kFarSlow,
      .move_to_fast = kFarMoves.to_fast,
      .move_to_slow = kFarMoves.to_slow,
      .gemm = gemm_rate(24, 2.2e9),
      .fault_ns = 500,
      .outstanding = 12,
      .interference = kFarMoves.share_of(kReadOfPeak * kXeon2Dram),
      .cores = 24,
      .fast_bytes = 0,
      .slow_bytes = 0,
      .scale = 1},
     "DDR4 of the other socket, over three UPI links, 24-core 2nd generation Xeon",
     "three links of 10.4 GT/s, 20.8 GB/s each in each direction (data sheet of the processor)",
     "82 % and 50 % of the links' peak; one hop costs 60 ns; moves: eight movers as on optane-100, 16 GB/s "
     "to fast and 20 to slow, below what the links carry; all else as there"},
    {{.name = "hbm-ddr5",
      .fast = {2.3 * kXeonMaxSlow.read, 3.5 * kXeonMaxSlow.write, 130},
      .slow = kXeonMaxSlow,
      .move_to_fast = kHbmMoves.to_fast,
      .move_to_slow = kHbmMoves.to_slow,
      .gemm = gemm_rate(56, 1.9e9),
      .fault_ns = 500,
      .outstanding = 16,
      .interference = kHbmMoves.share_of(kReadOfPeak * kXeonMaxDram),
      .cores = 56,
      .fast_bytes = std::uint64_t{64} << 30,
      .slow_bytes = 0,
      .scale = 1},
     "HBM2e of a 56-core Xeon Max (flat mode) before its DDR5, which is the slow tier",
     "HBM against DDR5 of the same processor: 2.3 times the read bandwidth, 3.5 times STREAM; peaks 1638 and 307 GB/s "
     "(McCalpin, Bandwidth Limits in the Intel Xeon Max Processors, ISC 2023 IXPUG workshop); 64 GB of HBM",
     "DDR5: 82 % and 50 % of the peak of eight channels DDR5-4800, HBM by the published ratios (STREAM's for writes); "
     "latencies 110 and 130 ns; float32 product: 80 % of 56 x 64 x 1.9 GHz; moves: eight movers as on optane-100, 16 "
     "GB/s "
     "to fast and 20 to slow, below what the DDR5 delivers; all else as on cxl-x8"},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPresets), std::end(kPresets),
                                         [&](const Preset& preset) { return name == preset.machine.name; });
  return found != std::end(kPresets) ? found : nullptr;
}

}  // namespace hearth::tier
