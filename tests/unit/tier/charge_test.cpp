#include "tier/charge.h"

#include <gtest/gtest.h>

namespace hearth::tier {
namespace {

Machine machine() {
  Machine m;
  m.fast = {.read = 10e9, .write = 5e9, .latency_ns = 80};
  m.slow = {.read = 2e9, .write = 1e9, .latency_ns = 300};
  m.outstanding = 10;
  m.cores = 2;
  return m;
}

TEST(Charge, NoTrafficTakesNoTime) {
  EXPECT_EQ(traffic_ns(machine(), {}), 0);
  EXPECT_EQ(Traffic{}.slow_bytes(), 0u);
}

TEST(Charge, EachKindOfTrafficAtItsOwnBandwidth) {
  EXPECT_DOUBLE_EQ(traffic_ns(machine(), {.fast_read = 1'000'000}), 100'000);
  EXPECT_DOUBLE_EQ(traffic_ns(machine(), {.fast_write = 1'000'000}), 200'000);
  EXPECT_DOUBLE_EQ(traffic_ns(machine(), {.slow_read = 1'000'000}), 500'000);
  EXPECT_DOUBLE_EQ(traffic_ns(machine(), {.slow_write = 1'000'000}), 1'000'000);
  const Traffic all{.fast_read = 1'000'000, .fast_write = 1'000'000, .slow_read = 1'000'000, .slow_write = 1'000'000};
  EXPECT_DOUBLE_EQ(traffic_ns(machine(), all), 1'800'000);
}

TEST(Charge, SlowBytesAreThoseOfSlowOperandsAlone) {
  const Traffic all{.fast_read = 1, .fast_write = 2, .slow_read = 4, .slow_write = 8, .slow_gathered = 16};
  EXPECT_EQ(all.slow_bytes(), 28u);
}

TEST(Charge, SmallRowsCostLatencyLargeOnesBandwidth) {
  // 300 ns over 10 misses in flight on each of 2 cores: 15 ns a row; 64 bytes alone would take 32 ns.
  const Machine m = machine();
  EXPECT_DOUBLE_EQ(gather_ns(m, m.slow, 1000, 8, false), 15'000);
  EXPECT_DOUBLE_EQ(gather_ns(m, m.slow, 1000, 512, false), 256'000);
  EXPECT_DOUBLE_EQ(gather_ns(m, m.slow, 1000, 512, true), 512'000);
}

TEST(Charge, RowsOfTheFastTierAtItsLatencyAndBandwidth) {
  // 80 ns over 20 misses in flight: 4 ns a row; 64 bytes alone would take 6.4 ns.
  const Machine m = machine();
  EXPECT_DOUBLE_EQ(gather_ns(m, m.fast, 1000, 8, false), 4'000);
  EXPECT_DOUBLE_EQ(gather_ns(m, m.fast, 1000, 64, false), 6'400);
  EXPECT_DOUBLE_EQ(gather_ns(m, m.fast, 1000, 64, true), 12'800);
}

TEST(Charge, MovesInBothDirectionsCostAllOfTheInterference) {
  Machine m = machine();
  m.interference = 0.25;
  EXPECT_EQ(interference_ns(m, 1000, 0), 0);
  EXPECT_EQ(interference_ns(m, 1000, 1), 125);
  EXPECT_EQ(interference_ns(m, 1000, 2), 250);
}

TEST(Charge, AMachineWithoutFiguresChargesNothing) {
  EXPECT_EQ(traffic_ns(Machine{}, {.slow_read = 1 << 20, .slow_write = 1 << 20}), 0);
  EXPECT_EQ(gather_ns(Machine{}, Speed{}, 1000, 64, false), 0);
}

}  // namespace
}  // namespace hearth::tier
