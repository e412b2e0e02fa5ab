#include "machine/scaling.h"

#include <gtest/gtest.h>

#include "tier/presets.h"

namespace hearth::machine {
namespace {

tier::Machine host() {
  tier::Machine machine;
  machine.cores = 2;
  machine.gemm = 9e10;
  machine.fault_ns = 1200;
  return machine;
}

// Bytes per FLOP: what a program that is bound by memory there is bound by here.
void expect_same_ratio(double here, const tier::Machine& machine, double there, const tier::Machine& reference) {
  EXPECT_NEAR(here / machine.gemm, there / reference.gemm, 1e-12 * there / reference.gemm);
}

TEST(Scaled, KeepsBytesPerFlopOfBothTiersAndOfMoves) {
  for (const tier::Preset& preset : tier::presets()) {
    const tier::Machine& reference = preset.machine;
    const tier::Machine machine = scaled(reference, host());
    expect_same_ratio(machine.fast.read, machine, reference.fast.read, reference);
    expect_same_ratio(machine.fast.write, machine, reference.fast.write, reference);
    expect_same_ratio(machine.slow.read, machine, reference.slow.read, reference);
    expect_same_ratio(machine.slow.write, machine, reference.slow.write, reference);
    expect_same_ratio(machine.move_to_fast, machine, reference.move_to_fast, reference);
    expect_same_ratio(machine.move_to_slow, machine, reference.move_to_slow, reference);
  }
}

TEST(Scaled, KeepsLatenciesAndGathersPerFlop) {
  const tier::Machine& reference = tier::find_preset("optane-100")->machine;
  const tier::Machine machine = scaled(reference, host());
  EXPECT_EQ(machine.fast.latency_ns, reference.fast.latency_ns);
  EXPECT_EQ(machine.slow.latency_ns, reference.slow.latency_ns);
  for (const tier::Speed& tier : {reference.fast, reference.slow}) {
    expect_same_ratio(gathers_per_second(machine, tier), machine, gathers_per_second(reference, tier), reference);
  }
}

TEST(Scaled, IsTheHostWhereThingsHappenForReal) {
  const tier::Machine& reference = tier::find_preset("cxl-x8")->machine;
  const tier::Machine machine = scaled(reference, host());
  EXPECT_EQ(machine.cores, 2u);
  EXPECT_EQ(machine.gemm, 9e10);
  EXPECT_EQ(machine.fault_ns, 1200);
  EXPECT_DOUBLE_EQ(machine.scale, 9e10 / reference.gemm);
  EXPECT_STREQ(machine.name, "cxl-x8");
}

TEST(Scaled, ToItselfIsItself) {
  const tier::Machine& reference = tier::find_preset("far-socket")->machine;
  tier::Machine same = scaled(reference, reference);
  EXPECT_DOUBLE_EQ(same.outstanding, reference.outstanding);
  same.outstanding = reference.outstanding;
  EXPECT_EQ(same, reference);
}

TEST(Scaled, NeedsTheHostsComputePower) {
  const tier::Machine& reference = tier::find_preset("far-socket")->machine;
  tier::Machine unknown = host();
  unknown.gemm = 0;
  EXPECT_EQ(scaled(reference, unknown), reference);
}

}  // namespace
}  // namespace hearth::machine
