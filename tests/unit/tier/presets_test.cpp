#include "tier/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hearth::tier {
namespace {

using ::testing::HasSubstr;

// Moves take their bandwidth from DRAM, which is the slow tier beside HBM.
double dram_read(const Machine& machine) {
  return std::string(machine.name) == "hbm-ddr5" ? machine.slow.read : machine.fast.read;
}

TEST(Presets, AreCompleteMachinesWithSources) {
  std::set<std::string> names;
  for (const Preset& preset : presets()) {
    const Machine& machine = preset.machine;
    EXPECT_TRUE(names.insert(machine.name).second) << machine.name;
    EXPECT_EQ(find_preset(machine.name), &preset);
    EXPECT_TRUE(machine.two_tiers()) << machine.name;
    for (const Speed& tier : {machine.fast, machine.slow}) {
      EXPECT_GE(tier.read, tier.write) << machine.name;
      EXPECT_GT(tier.latency_ns, 50) << machine.name;
    }
    EXPECT_GT(machine.fast.read, machine.slow.read) << machine.name;
    EXPECT_GT(machine.fast.write, machine.slow.write) << machine.name;
    EXPECT_LT(machine.move_to_fast, machine.slow.read) << machine.name;
    EXPECT_LT(machine.move_to_slow, machine.slow.write) << machine.name;
    EXPECT_DOUBLE_EQ(machine.interference, (machine.move_to_fast + machine.move_to_slow) / 2 / dram_read(machine));
    EXPECT_GT(machine.gemm, 1e12) << machine.name;
    EXPECT_GT(machine.cores, 0u);
    EXPECT_EQ(machine.scale, 1);
    for (const char* text : {preset.what, preset.published, preset.derived}) EXPECT_GT(std::string(text).size(), 20u);
  }
  EXPECT_EQ(names, (std::set<std::string>{"optane-100", "cxl-x8", "far-socket", "hbm-ddr5"}));
}

TEST(Presets, AreFoundByTheirWholeName) {
  EXPECT_EQ(find_preset(""), nullptr);
  EXPECT_EQ(find_preset("optane"), nullptr);
  EXPECT_EQ(find_preset("optane-1000"), nullptr);
}

// The figures that design and benchmarks lean on, as published.
TEST(Presets, OptaneIsTheOneThatWasMeasured) {
  const Machine& machine = find_preset("optane-100")->machine;
  EXPECT_DOUBLE_EQ(machine.slow.read, 39.4e9);
  EXPECT_DOUBLE_EQ(machine.slow.write, 13.9e9);
  EXPECT_DOUBLE_EQ(machine.slow.latency_ns, 305);
  EXPECT_NEAR(machine.slow.latency_ns / machine.fast.latency_ns, 3, 0.1);
  EXPECT_NEAR(machine.slow.read / machine.fast.read, 0.375, 0.01);
  EXPECT_THAT(find_preset("optane-100")->published, HasSubstr("arXiv:1903.05714"));
}

// Eight movers at 2.0 and 2.5 GB/s each; Optane takes no more than 12 GB/s.
TEST(Presets, MovesAreThoseOfEightMoversUnlessTheMediumIsSlower) {
  for (const Preset& preset : presets()) {
    const bool optane = std::string(preset.machine.name) == "optane-100";
    EXPECT_DOUBLE_EQ(preset.machine.move_to_fast, 16e9) << preset.machine.name;
    EXPECT_DOUBLE_EQ(preset.machine.move_to_slow, optane ? 12e9 : 20e9) << preset.machine.name;
    EXPECT_THAT(preset.derived, HasSubstr("moves: eight movers")) << preset.machine.name;
  }
}

TEST(Machine, GathersAreReadsInFlightOverLatency) {
  Machine machine;
  machine.cores = 4;
  machine.outstanding = 10;
  EXPECT_DOUBLE_EQ(gathers_per_second(machine, {1, 1, 100}), 4e8);
  EXPECT_FALSE(machine.two_tiers());
}

}  // namespace
}  // namespace hearth::tier
