// Machines as text trees, and which of their nodes become the fast and the slow tier.
#include "tier/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tier/node_list.h"
#include "tier/topology_choice.h"
#include "unit/tier/topology_tree.h"

namespace hearth::tier {
namespace {

using test::TopologyTree;
using ::testing::HasSubstr;

std::unique_ptr<Topology> read(const std::string& text) {
  const TopologyTree tree(text);
  auto topology = std::make_unique<Topology>();
  EXPECT_TRUE(read_topology(tree.root().c_str(), topology.get()));
  return topology;
}

std::unique_ptr<Topology> machine(const std::string& name) { return read(TopologyTree::text_of(name)); }

// The fixture with one line replaced: `machine` seen by another process.
std::unique_ptr<Topology> machine_with(const std::string& name, const std::string& line, const std::string& instead) {
  std::string text = TopologyTree::text_of(name);
  const std::size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return read(text.replace(at, line.size(), instead));
}

std::string listed(const os::NodeMask& nodes) {
  text::Buffer<128> text;
  write_nodes(text, nodes);
  return std::string(text.view());
}

std::string tiers(const TierChoice& choice) {
  return choice.two_tiers() ? listed(choice.fast) + " | " + listed(choice.slow)
                            : "none: " + std::string(choice.problem);
}

std::string tiers(const Topology& topology, const char* fast = "", const char* slow = "") {
  return tiers(choose_tiers(topology, std::string_view(fast), std::string_view(slow)));
}

std::string how(const Topology& topology) { return choose_tiers(topology, "", "").how; }

TEST(ReadTopology, TakesInWhatTheKernelShows) {
  const auto topology = machine("optane-kmem");
  EXPECT_EQ(listed(topology->online), "0-3");
  EXPECT_EQ(listed(topology->with_cpus), "0-1");
  EXPECT_EQ(listed(topology->home), "0-1");
  EXPECT_EQ(listed(topology->usable()), "0-3");
  EXPECT_EQ(topology->nodes[2].bytes, 774144ull << 20);
  EXPECT_EQ(topology->nodes[2].free_bytes, 770000ull << 20);
  EXPECT_EQ(topology->nodes[2].speed, (ReportedSpeed{39000, 13000, 305, 94}));
  EXPECT_TRUE(topology->nodes[2].speed_is_ours);
  EXPECT_EQ(topology->nodes[2].memory_tier, 22);
  EXPECT_EQ(topology->nodes[0].memory_tier, 4);
  EXPECT_EQ(topology->nodes[3].distance, 17u) << "from node 1, the nearest one of ours";
}

TEST(ReadTopology, HomeIsWhereThisProcessMayRun) {
  const auto bound = machine_with("optane-kmem", "cpus_allowed 0-47", "cpus_allowed 30");
  EXPECT_EQ(listed(bound->home), "1");
  EXPECT_EQ(bound->nodes[0].distance, 21u);
  EXPECT_FALSE(bound->nodes[2].speed_is_ours);
  EXPECT_TRUE(bound->nodes[3].speed_is_ours);
}

TEST(ReadTopology, DistancesStandInTheOrderOfTheNodesThatAreThere) {
  const auto topology = machine("holes");
  EXPECT_EQ(listed(topology->online), "0,2,5");
  EXPECT_EQ(topology->nodes[2].distance, 17u);
  EXPECT_EQ(topology->nodes[5].distance, 28u);
}

TEST(ReadTopology, AReadTopologyKeepsNothingOfTheLastOne) {
  auto topology = machine("optane-kmem");
  const TopologyTree tree(TopologyTree::text_of("one-node"));
  ASSERT_TRUE(read_topology(tree.root().c_str(), topology.get()));
  EXPECT_EQ(listed(topology->online), "0");
  EXPECT_EQ(topology->nodes[2].bytes, 0u);
  EXPECT_EQ(topology->nodes[2].memory_tier, -1);
}

TEST(ReadTopology, AKernelWithoutNodesIsNoMachine) {
  auto topology = std::make_unique<Topology>();
  EXPECT_FALSE(read_topology("/nonexistent", topology.get()));
  EXPECT_TRUE(topology->usable().empty());
}

TEST(ReadTopology, ThisMachine) {
  auto topology = std::make_unique<Topology>();
  ASSERT_TRUE(read_topology("", topology.get()));
  EXPECT_FALSE(topology->usable().empty());
  EXPECT_FALSE(topology->home.empty());
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0;
  ASSERT_TRUE(read_node_memory("", topology->usable().next(0), &bytes, &free_bytes));
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(free_bytes, bytes);
}

TEST(ChooseTiers, OfEveryFixture) {
  const std::pair<const char*, const char*> cases[] = {
      {"optane-kmem", "0-1 | 2-3"}, {"optane-no-hmat", "0-1 | 2-3"}, {"cxl", "0 | 1"},
      {"cxl-one-tier", "0 | 1"},    {"hbm-snc4", "4-7 | 0-3"},       {"holes", "0 | 2"},
      {"node-70", "0 | 70"},        {"memory-less", "1 | 3"},        {"two-sockets", "0 | 1"},
      {"hmat-latency", "0 | 1"},
  };
  for (const auto& [name, expected] : cases) {
    const auto topology = machine(name);
    EXPECT_EQ(tiers(*topology), expected) << name;
    EXPECT_NE(how(*topology), "") << name;
  }
}

TEST(ChooseTiers, AProcessOfOneSocketUsesWhatIsNearIt) {
  const char* const of_socket_1 = "cpus_allowed 24-47";
  EXPECT_EQ(tiers(*machine_with("optane-kmem", "cpus_allowed 0-47", of_socket_1)), "1 | 3");
  EXPECT_EQ(tiers(*machine_with("optane-no-hmat", "cpus_allowed 0-47", of_socket_1)), "1 | 3");
  EXPECT_EQ(tiers(*machine_with("hbm-snc4", "cpus_allowed 0-55", "cpus_allowed 14-20")), "5 | 1");
}

TEST(ChooseTiers, ReportedSpeedBeatsProcessors) {
  const std::string said = how(*machine("hbm-snc4"));
  EXPECT_THAT(said, HasSubstr("read bandwidth that the firmware reports: at least 145000 MB/s on nodes 4-7"));
  EXPECT_THAT(said, HasSubstr("at most 63000 MB/s on nodes 0-3"));
}

TEST(ChooseTiers, AGuessIsSaidToBeOneAndHowToTurnItRound) {
  const auto topology = machine("hbm-no-hmat");
  EXPECT_EQ(tiers(*topology), "0 | 1");
  EXPECT_THAT(how(*topology), HasSubstr("guessed to be slow memory"));
  EXPECT_THAT(how(*topology), HasSubstr("set HEARTH_FAST_NODES=1"));
  EXPECT_EQ(tiers(*topology, "1"), "1 | 0");
  EXPECT_THAT(how(*machine("cxl")), HasSubstr("memory tiers of the kernel"));
  EXPECT_THAT(how(*machine("two-sockets")), HasSubstr("the memory of another socket"));
}

TEST(ChooseTiers, ProcessorsAreTheLastResort) {
  const auto topology = machine_with("hbm-no-hmat", "distance 10 31", "distance");
  topology->nodes[1].distance = 0;
  EXPECT_EQ(tiers(*topology), "0 | 1");
  EXPECT_THAT(how(*topology), HasSubstr("neither speed, memory tier nor distance tells"));
}

TEST(ChooseTiers, SubNumaNeighboursAreNoSecondTier) {
  const auto bound = read(
      "online 0-1\nallowed 0-1\ncpus_allowed 0-3\nnode 0 cpus 0-3 MiB 1024 free 1000 distance 10 12\n"
      "node 1 cpus 4-7 MiB 1024 free 1000 distance 12 10\n");
  EXPECT_THAT(tiers(*bound), HasSubstr("nothing tells nodes 0-1 apart"));
}

TEST(ChooseTiers, TwoSocketsThatTheProcessUsesBothAreAlike) {
  const auto both = machine_with("two-sockets", "cpus_allowed 0-23", "cpus_allowed 0-95");
  EXPECT_THAT(tiers(*both), HasSubstr("nothing tells nodes 0-1 apart; name them in HEARTH_FAST_NODES"));
  EXPECT_THAT(tiers(*both), HasSubstr("numactl --cpunodebind"));
  EXPECT_EQ(tiers(*both, "", "1"), "0 | 1");
}

TEST(ChooseTiers, OneNodeIsOneTier) {
  EXPECT_THAT(tiers(*machine("one-node")), HasSubstr("memory on node 0 alone; a second tier can only be emulated"));
}

TEST(ChooseTiers, NodesHiddenByACpusetAreNamedWithTheCure) {
  const auto topology = machine("cpuset-hidden");
  EXPECT_EQ(listed(topology->usable()), "0");
  for (const char* slow : {"", "1"}) {
    EXPECT_THAT(tiers(*topology, "", slow), HasSubstr("node 1 hidden from this process by a cpuset")) << slow;
    EXPECT_THAT(tiers(*topology, "", slow), HasSubstr("cpuset.mems")) << slow;
  }
}

TEST(ChooseTiers, SmallDifferencesAreNoTiers) {
  const auto topology = read(
      "online 0-1\nallowed 0-1\ncpus_allowed 0-7\nnode 0 cpus 0-3 MiB 1024 free 1000 distance 10 12\n"
      "node 1 cpus 4-7 MiB 1024 free 1000 distance 12 10\n"
      "speed 0 access0 from 0 read 100000 write 100000 read_ns 100 write_ns 100\n"
      "speed 1 access0 from 1 read 85000 write 85000 read_ns 110 write_ns 110\n");
  EXPECT_THAT(tiers(*topology), HasSubstr("nothing tells nodes 0-1 apart"));
}

TEST(ChooseTiers, ThreeKindsAreCutAtTheLargestStep) {
  const auto topology = read(
      "online 0-2\nallowed 0-2\ncpus_allowed 0-3\nnode 0 cpus 0-3 MiB 1024 free 1000 distance 10 12 14\n"
      "node 1 cpus none MiB 1024 free 1000 distance 12 10 14\nnode 2 cpus none MiB 1024 free 1000 distance 14 14 10\n"
      "speed 0 access0 from 0 read 250000 write 250000 read_ns 110 write_ns 110\n"
      "speed 1 access0 from 0 read 500000 write 500000 read_ns 130 write_ns 130\n"
      "speed 2 access0 from 0 read 24000 write 24000 read_ns 250 write_ns 250\n");
  EXPECT_EQ(tiers(*topology), "0-1 | 2");
}

TEST(ChooseTiers, ListsOfTheUser) {
  const auto topology = machine("optane-kmem");
  const struct {
    const char* fast;
    const char* slow;
    const char* expected;
  } cases[] = {
      {"0", "2", "0 | 2"},
      {"0-1", "", "0-1 | 2-3"},
      {"", "2", "0-1,3 | 2"},
      {"!2-3", "3", "0-1 | 3"},
      {"+0", "", "0 | 1-3"},
      {"0,2", "2", "none: node 2 in both HEARTH_FAST_NODES and HEARTH_SLOW_NODES; name it in one"},
      {"all", "",
       "none: HEARTH_FAST_NODES names all memory that can be used, nodes 0-3; leave some for the other tier"},
      {"", "9", "none: HEARTH_SLOW_NODES=9: there is no node 9 here; nodes: 0-3"},
      {"x", "",
       "none: HEARTH_FAST_NODES=x: 'x' is no node or range of nodes; a node list is 0-2,5 or all, !3 (all but), "
       "+0 (the first allowed)"},
  };
  for (const auto& [fast, slow, expected] : cases) EXPECT_EQ(tiers(*topology, fast, slow), expected);
}

TEST(ChooseTiers, ANodeWithoutMemoryCannotBeATier) {
  EXPECT_EQ(tiers(*machine("memory-less"), "", "2"),
            "none: HEARTH_SLOW_NODES: node 2 without memory; nodes that can be used: 1,3");
}

TEST(ChooseTiers, MasksOfNodesThatAreNotThereAreRefused) {
  const auto topology = machine("one-node");
  os::NodeMask absent;
  absent.set(1023);
  EXPECT_EQ(tiers(choose_tiers(*topology, os::NodeMask(), absent)),
            "none: HEARTH_SLOW_NODES: node 1023 not there; this machine has node 0");
}

}  // namespace
}  // namespace hearth::tier
