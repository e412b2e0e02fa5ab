// Measuring itself: sums, shapes and refusals. How fast this machine is, is no matter of a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "machine/bandwidth.h"
#include "machine/crew.h"
#include "machine/gemm.h"
#include "machine/latency.h"
#include "machine/moves.h"
#include "machine/probe.h"

namespace hearth::machine {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kSmallArea = std::size_t{8} << 20;

os::NodeMask node_0() {
  os::NodeMask mask;
  mask.set(0);
  return mask;
}

TEST(Figure, MedianAndSpread) {
  EXPECT_FALSE(figure_of({}).known());
  EXPECT_EQ(figure_of({3, 1, 2}).median, 2);
  EXPECT_EQ(figure_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_DOUBLE_EQ(figure_of({2, 3}).spread(), 0.5);
  EXPECT_EQ(figure_of({7}).repeats, 1u);
}

TEST(Crew, WorksAtTheSameTimeOnItsOwnProcessors) {
  const std::vector<int> processors = own_processors();
  std::mutex mutex;
  std::set<unsigned> numbers;
  std::set<int> seen;
  const auto count = static_cast<unsigned>(processors.size());
  const double seconds = timed_together(count, [&](unsigned i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex);
    numbers.insert(i);
    seen.insert(sched_getcpu());
  });
  EXPECT_EQ(numbers.size(), count);
  EXPECT_EQ(seen, std::set<int>(processors.begin(), processors.end()));
  EXPECT_GE(seconds, 0.02);
  EXPECT_EQ(own_processors(), processors);
}

TEST(Crew, TheCallingThreadGoesBackToAllItsProcessors) {
  const std::vector<int> processors = own_processors();
  {
    const OnProcessor here(processors.back());
    EXPECT_EQ(own_processors(), std::vector<int>{processors.back()});
  }
  EXPECT_EQ(own_processors(), processors);
}

TEST(Loops, WriteAndCopyEveryByte) {
  std::vector<char> from(4096);
  std::vector<char> to(4096 + 64, 'x');
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
  copy_all(to.data(), from.data(), from.size());
  EXPECT_EQ(std::memcmp(to.data(), from.data(), from.size()), 0);
  write_all(to.data(), from.size());
  for (std::size_t i = 0; i < from.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, to.data() + i, 8);
    ASSERT_EQ(word, i / 8 % 4 + 1);
  }
  EXPECT_EQ(to[4096], 'x');
}

TEST(Bandwidth, OfThisMachine) {
  const Bandwidth bandwidth = measure_bandwidth(node_0(), 2, kSmallArea, 3);
  EXPECT_EQ(bandwidth.problem, "");
  for (const Figure* figure : {&bandwidth.read, &bandwidth.write, &bandwidth.copy}) {
    EXPECT_EQ(figure->repeats, 3u);
    EXPECT_GT(figure->median, 1e7);
    EXPECT_LT(figure->median, 1e14);
  }
}

TEST(Latency, OfThisMachine) {
  const Latency latency = measure_latency(node_0(), kSmallArea, 1);
  EXPECT_GT(latency.dependent_ns.median, 0.5);
  EXPECT_GT(latency.outstanding, 0.5);
}

TEST(Moves, PagesOfOneNodeAreCopied) {
  const Moves copied = measure_page_copy(0, PageSize::small, 1, kSmallArea, 2);
  EXPECT_FALSE(copied.real);
  EXPECT_GT(copied.there.median, 1e7);
}

TEST(Moves, ANodeThatIsNotThereIsAProblemAndNoSpeed) {
  const Moves moves = measure_moves(0, 1000, PageSize::small, 1, kSmallArea, 2);
  EXPECT_THAT(moves.problem, HasSubstr("move_pages: "));
  EXPECT_FALSE(moves.there.known());
}

TEST(Moves, ToTheSameNodeTheyAreThereAlready) {
  const Moves moves = measure_moves(0, 0, PageSize::huge, 2, kSmallArea, 1);
  EXPECT_EQ(moves.problem, "");
  EXPECT_TRUE(moves.there.known());
}

TEST(FirstTouch, CostsSomething) { EXPECT_GT(measure_first_touch(256, 3).median, 20); }

TEST(Gemm, MultipliesAsTheDefinitionDoes) {
  constexpr unsigned kRows = 12;
  constexpr unsigned kColumns = 32;
  constexpr unsigned kDepth = 19;
  std::minstd_rand random(1);
  const auto matrix = [&](unsigned elements) {
    std::vector<float> values(elements);
    for (float& value : values) value = static_cast<float>(random() % 17) - 8;  // exact in float, in any order
    return values;
  };
  const std::vector<float> a = matrix(kRows * kDepth);
  const std::vector<float> b = matrix(kDepth * kColumns);
  std::vector<float> c = matrix(kRows * kColumns);
  std::vector<float> expected = c;
  for (unsigned i = 0; i < kRows; ++i) {
    for (unsigned j = 0; j < kColumns; ++j) {
      for (unsigned k = 0; k < kDepth; ++k) expected[i * kColumns + j] += a[i * kDepth + k] * b[k * kColumns + j];
    }
  }
  multiply(a.data(), b.data(), c.data(), kRows, kColumns, kDepth);
  EXPECT_EQ(c, expected);
}

Measured two_tiers() {
  Measured measured;
  measured.cores = 4;
  os::NodeMask slow;
  slow.set(1);
  measured.choice.fast = node_0();
  measured.choice.slow = slow;
  const auto memory = [](const os::NodeMask& nodes, double speed) {
    MemoryMeasured one;
    one.nodes = nodes;
    one.bandwidths = {{1, figure_of({speed / 2}), figure_of({speed / 4}), {}, ""},
                      {4, figure_of({speed}), figure_of({speed / 2}), {}, ""}};
    one.latency = {figure_of({1e12 / speed}), 12, ""};
    return one;
  };
  measured.memory = {memory(node_0(), 1e10), memory(slow, 4e9)};
  measured.moves = {{PageSize::small, 1, true, figure_of({1e9}), figure_of({2e9}), ""},
                    {PageSize::huge, 1, true, figure_of({3e9}), figure_of({4e9}), ""},
                    {PageSize::huge, 2, true, figure_of({5e9}), figure_of({6e9}), ""}};
  measured.interference = {{3, figure_of({0.1}), {}, ""}, {4, figure_of({0.3}), {}, ""}};
  measured.gemm = figure_of({1e11});
  measured.fault_ns = figure_of({700});
  measured.slow_bytes = 77;
  return measured;
}

TEST(MachineOf, TakesAllThreadsOneMoverAndHugePages) {
  const tier::Machine machine = machine_of(two_tiers(), "x");
  EXPECT_EQ(machine.fast, (tier::Speed{1e10, 5e9, 100}));
  EXPECT_EQ(machine.slow, (tier::Speed{4e9, 2e9, 250}));
  EXPECT_EQ(machine.move_to_slow, 3e9);
  EXPECT_EQ(machine.move_to_fast, 4e9);
  EXPECT_EQ(machine.outstanding, 12);
  EXPECT_EQ(machine.interference, 0.3);
  EXPECT_EQ(machine.gemm, 1e11);
  EXPECT_EQ(machine.slow_bytes, 77u);
  EXPECT_TRUE(machine.two_tiers());
}

TEST(MachineOf, HugePagesThatCouldNotBeMovedLeaveSmallOnes) {
  Measured measured = two_tiers();
  measured.moves[1].problem = "3 % of the pages did not move to node 1";
  EXPECT_EQ(machine_of(measured, "x").move_to_slow, 1e9);
}

TEST(Verdict, ComparesTheTiersAndSaysWhenTheyAreTheWrongWayRound) {
  Measured measured = two_tiers();
  EXPECT_EQ(verdict(measured),
            "two kinds of memory, node 0 fast, node 1 slow: the slow one reads at 40 %, writes at 40 %, answers in 2.5 "
            "times the time");
  std::swap(measured.memory[0].bandwidths, measured.memory[1].bandwidths);
  EXPECT_THAT(verdict(measured), HasSubstr("IT IS THE FASTER ONE: set HEARTH_FAST_NODES=1"));
}

TEST(Verdict, OneKindOfMemoryHasNoSlowTier) {
  Measured measured = two_tiers();
  std::strcpy(measured.choice.problem, "this machine has memory on node 0 alone");
  EXPECT_EQ(verdict(measured), "one kind of memory: this machine has memory on node 0 alone");
  EXPECT_FALSE(machine_of(measured, "x").two_tiers());
  EXPECT_EQ(machine_of(measured, "x").slow, tier::Speed());
}

TEST(WorstSpread, IsThatOfTheWorstFigure) {
  Measured measured = two_tiers();
  EXPECT_EQ(worst_spread(measured), 0);
  measured.memory[1].bandwidths[0].copy = figure_of({1, 1, 1.5});
  EXPECT_DOUBLE_EQ(worst_spread(measured), 0.5);
}

}  // namespace
}  // namespace hearth::machine
