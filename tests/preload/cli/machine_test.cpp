// `hearth info` on machines that are not at hand: the kernel's files come from a folder.
#include "cli/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "cli/info_text.h"
#include "unit/tier/topology_tree.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

class MachineTest : public ::testing::Test {
 protected:
  void SetUp() override { root_ = fs::temp_directory_path() / ("hearth-machine-" + std::to_string(getpid())); }
  void TearDown() override { fs::remove_all(root_); }

  void file(const fs::path& path, const std::string& content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  void node(int number, const std::string& cpus, long kilobytes) {
    const std::string folder = "sys/devices/system/node/node" + std::to_string(number);
    const std::string prefix = "Node " + std::to_string(number);
    file(folder + "/cpulist", cpus + "\n");
    file(folder + "/meminfo",
         prefix + " MemTotal:       " + std::to_string(kilobytes) + " kB\n" + prefix + " MemFree:        100 kB\n");
  }

  fs::path root_;
};

TEST_F(MachineTest, TwoTiersWithAHole) {
  file("sys/devices/system/node/online", "0,2\n");
  node(0, "0-15", 1024);
  node(2, "", 4096);
  file("sys/devices/system/node/node2/access0/initiators/read_bandwidth", "6600\n");
  file("sys/devices/system/node/node2/access0/initiators/read_latency", "300\n");
  file("proc/self/status", "Name:\tx\nMems_allowed_list:\t0,2\n");
  const auto nodes = describe_machine(root_).at("nodes");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].at("bytes"), 1024 * 1024);
  EXPECT_EQ(nodes[0].at("cpus"), "0-15");
  EXPECT_FALSE(nodes[0].contains("read_mb_per_s"));
  EXPECT_EQ(nodes[1].at("node"), 2);
  EXPECT_EQ(nodes[1].at("free_bytes"), 100 * 1024);
  EXPECT_FALSE(nodes[1].contains("cpus")) << "memory without processors";
  EXPECT_EQ(nodes[1].at("read_mb_per_s"), 6600);
  EXPECT_EQ(nodes[1].at("read_latency_ns"), 300);
  EXPECT_EQ(nodes[1].at("allowed"), true);
}

TEST_F(MachineTest, NodesHiddenByACpusetAreToldApart) {
  file("sys/devices/system/node/online", "0-1\n");
  node(0, "0", 1024);
  node(1, "1", 1024);
  file("proc/self/status", "Mems_allowed_list:\t0\n");
  const auto nodes = describe_machine(root_).at("nodes");
  EXPECT_EQ(nodes.at(0).at("allowed"), true);
  EXPECT_EQ(nodes.at(1).at("allowed"), false);
}

TEST_F(MachineTest, KernelSettings) {
  file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  file("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise madvise [never]\n");
  file("proc/sys/vm/max_map_count", "65530\n");
  file("proc/sys/vm/overcommit_memory", "2\n");
  file("proc/meminfo", "MemTotal:        2048 kB\nMemFree:  1 kB\nMemAvailable:    1024 kB\n");
  const auto facts = describe_machine(root_);
  EXPECT_EQ(facts.at("transparent_huge_pages"), "madvise");
  EXPECT_EQ(facts.at("transparent_huge_pages_defrag"), "never");
  EXPECT_EQ(facts.at("max_map_count"), 65530);
  EXPECT_EQ(facts.at("overcommit_memory"), 2);
  EXPECT_EQ(facts.at("memory_bytes"), 2048 * 1024);
  EXPECT_EQ(facts.at("available_bytes"), 1024 * 1024);
}

TEST_F(MachineTest, WhatIsNotReadableIsLeftOut) {
  const auto facts = describe_machine(root_ / "nothing");
  EXPECT_TRUE(facts.at("nodes").empty());
  EXPECT_FALSE(facts.contains("max_map_count"));
  EXPECT_GE(facts.at("page_bytes"), 4096);
}

TEST(MachineTiers, AreChosenAndExplained) {
  const test::TopologyTree tree(test::TopologyTree::text_of("optane-kmem"));
  const auto tiers = describe_tiers(tree.path(), "", "");
  EXPECT_EQ(tiers.at("fast"), "0-1");
  EXPECT_EQ(tiers.at("slow"), "2-3");
  EXPECT_NE(tiers.at("how").get<std::string>().find("read bandwidth"), std::string::npos);
  EXPECT_EQ(describe_tiers(tree.path(), "0", "2").at("slow"), "2");
  const auto nodes = describe_machine(tree.path()).at("nodes");
  EXPECT_EQ(nodes.at(3).at("memory_tier"), 22);
  EXPECT_EQ(nodes.at(3).at("of_our_processors"), true);
}

TEST(MachineTiers, OneTierSaysWhy) {
  const test::TopologyTree tree(test::TopologyTree::text_of("cpuset-hidden"));
  const auto tiers = describe_tiers(tree.path(), "", "");
  EXPECT_TRUE(tiers.at("fast").is_null());
  EXPECT_NE(tiers.at("problem").get<std::string>().find("cpuset"), std::string::npos);
}

TEST(InfoText, WarnsOfAKernelThatMovesPagesItself) {
  nlohmann::ordered_json facts = {
      {"version", "1"},
      {"library", {{"path", "x"}, {"adapters", nlohmann::ordered_json::array()}}},
      {"machine", {{"nodes", nlohmann::ordered_json::array()}, {"numa_balancing", 1}}},
      {"tiers", {{"fast", "0"}, {"slow", "1"}, {"how", "HEARTH_SLOW_NODES, the rest is fast"}}},
      {"libraries",
       {{"libnuma", {{"loaded", false}, {"highest_node", nullptr}}},
        {"memkind", {{"loaded", true}, {"version", "1.14.0"}, {"dax_kmem", true}, {"hbw", nullptr}}}}},
      {"page_fault", {{"first_touch_ns", 1}, {"protect_fault_ns", nullptr}}},
      {"permitted", nlohmann::ordered_json::array()},
      {"knobs", nlohmann::ordered_json::array()},
      {"problems", nlohmann::ordered_json::array()}};
  const std::string warned = info_text(facts);
  EXPECT_NE(warned.find("THE KERNEL MOVES PAGES ITSELF"), std::string::npos);
  EXPECT_NE(warned.find("fast: nodes 0, slow: nodes 1"), std::string::npos);
  EXPECT_NE(warned.find("by HEARTH_SLOW_NODES, the rest is fast"), std::string::npos);
  EXPECT_NE(warned.find("(1.14.0), sees DAX_KMEM: yes, HBW: unknown"), std::string::npos);
  EXPECT_NE(warned.find("not installed (not needed)"), std::string::npos);
  facts["machine"]["numa_balancing"] = 0;
  EXPECT_EQ(info_text(facts).find("MOVES PAGES"), std::string::npos);
}

}  // namespace
}  // namespace hearth::cli
