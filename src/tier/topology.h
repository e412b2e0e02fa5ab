// Topology: which memory nodes this machine has and what the kernel knows of their speed. choose_tiers() makes the two
// tiers of it.
//
// Called once when the tiers are set up (first tensor allocation) and by tools, any thread. No lock, no allocation, no
// stdio, no exception. A Topology is some 50 KB: keep it static or mapped, not on a stack.
#pragma once

#include <cstdint>

#include "platform/os_numa.h"

namespace hearth::tier {

// Of a node's memory as its nearest processors see it (ACPI HMAT): MB/s and ns; 0 = the firmware does not tell.
struct ReportedSpeed {
  std::uint32_t read_bandwidth = 0;
  std::uint32_t write_bandwidth = 0;
  std::uint32_t read_latency = 0;
  std::uint32_t write_latency = 0;

  bool known() const { return (read_bandwidth | write_bandwidth | read_latency | write_latency) != 0; }
  bool operator==(const ReportedSpeed&) const = default;
};

struct Node {
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0;
  ReportedSpeed speed;
  bool speed_is_ours = false;     // the processors that it is told for are among those this process may run on
  std::int32_t memory_tier = -1;  // of the kernel: lower is faster; -1 = it has none
  std::uint32_t distance = 0;     // from the nearest node of `home`, 10 = the node itself; 0 = not told
};

struct Topology {
  os::NodeMask online;
  os::NodeMask allowed;  // online, and not hidden from this process by a cpuset
  os::NodeMask with_cpus;
  os::NodeMask home;  // with processors that this process may run on
  os::NodeMask with_memory;
  Node nodes[os::NodeMask::kNodes];

  // Where memory of this process can lie.
  os::NodeMask usable() const;
};

// Reads <root>/sys and <root>/proc/self/status; root "" is the machine itself. What is not readable is left as it is
// in a fresh Topology, except that all online nodes are allowed then. False if the kernel shows no node at all.
bool read_topology(const char* root, Topology* topology);

// Size and free memory of one node now; false if the kernel does not tell.
bool read_node_memory(const char* root, unsigned node, std::uint64_t* bytes, std::uint64_t* free_bytes);

}  // namespace hearth::tier
