// Machines that are not at hand: a text of tests/data/topology as a tree of the kernel's files in a temporary folder.
//
//   online 0-1                                       allowed, cpus_allowed: lists of /proc/self/status
//   node 0 cpus 0-23 MiB 196608 free 150000 distance 10 17       cpus none: a node without processors
//   speed 0 access0 from 0 read 105000 write 62000 read_ns 80 write_ns 80      as the firmware's HMAT gives it; 0 = not
//   tier 4 0                                         memory_tier4 holds node 0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hearth::test {

class TopologyTree {
 public:
  explicit TopologyTree(const std::string& text) {
    static int count = 0;
    root_ = std::filesystem::temp_directory_path() /
            ("hearth-topology-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::istringstream lines(text);
    std::string status = "Name:\ttest\n";
    for (std::string line; std::getline(lines, line);) unpack(line, status);
    file("proc/self/status", status);
  }
  ~TopologyTree() { std::filesystem::remove_all(root_); }
  TopologyTree(const TopologyTree&) = delete;
  TopologyTree& operator=(const TopologyTree&) = delete;

  static std::string text_of(const std::string& name) {
    std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "../../data/topology" / (name + ".txt"));
    EXPECT_TRUE(file.is_open()) << "no tests/data/topology/" << name << ".txt";
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string root() const { return root_.string(); }
  const std::filesystem::path& path() const { return root_; }

  void file(const std::filesystem::path& path, const std::string& content) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

 private:
  static constexpr const char* kNodes = "sys/devices/system/node/";

  void unpack(const std::string& line, std::string& status) {
    std::istringstream words(line);
    std::string kind;
    if (!(words >> kind) || kind.front() == '#') return;
    std::string value;
    if (kind == "node" || kind == "speed") return kind == "node" ? node(words) : speed(words);
    words >> value;
    if (kind == "online") return file(std::string(kNodes) + "online", value + "\n");
    if (kind == "allowed") status += "Mems_allowed:\t0\nMems_allowed_list:\t" + value + "\n";
    if (kind == "cpus_allowed") status += "Cpus_allowed:\tf\nCpus_allowed_list:\t" + value + "\n";
    if (kind != "tier") return;
    std::string members;
    words >> members;
    file("sys/devices/virtual/memory_tiering/memory_tier" + value + "/nodelist", members + "\n");
  }

  void node(std::istringstream& words) {
    std::string number, key, cpus, mebibytes, free_mebibytes, distances;
    words >> number >> key >> cpus >> key >> mebibytes >> key >> free_mebibytes >> key;
    std::getline(words, distances);
    const std::string folder = kNodes + ("node" + number) + "/";
    file(folder + "cpulist", (cpus == "none" ? "" : cpus) + "\n");
    file(folder + "meminfo", "Node " + number + " MemTotal:       " + kilobytes(mebibytes) + " kB\nNode " + number +
                                 " MemFree:        " + kilobytes(free_mebibytes) + " kB\n");
    file(folder + "distance", distances.empty() ? "\n" : distances.substr(1) + "\n");
  }

  void speed(std::istringstream& words) {
    std::string number, access, key, from, value;
    words >> number >> access >> key >> from;
    const std::string folder = kNodes + ("node" + number) + "/" + access + "/initiators/";
    if (from != "nobody") std::filesystem::create_directories(root_ / (folder + "node" + from));
    for (const char* name : {"read_bandwidth", "write_bandwidth", "read_latency", "write_latency"}) {
      words >> key >> value;
      if (value != "0") file(folder + name, value + "\n");
    }
  }

  static std::string kilobytes(const std::string& mebibytes) { return std::to_string(std::stoull(mebibytes) * 1024); }

  std::filesystem::path root_;
};

}  // namespace hearth::test
