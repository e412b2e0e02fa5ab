// NUMA from the kernel: placing and moving pages, by raw system calls (libnuma prints and exits by itself).
//
// Functions return 0 or an errno value: EPERM or ENOSYS where a container forbids the call, EINVAL for nodes outside
// the cpuset, ENODEV for a node that is not there.
// Thread-safety: any thread, async-signal-safe, no malloc. errno preserved.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::os {

// A set of NUMA nodes, as the kernel takes it. The kernel's limit is 1024 nodes (CONFIG_NODES_SHIFT 10).
struct NodeMask {
  static constexpr unsigned kNodes = 1024;
  std::uint64_t words[kNodes / 64] = {};

  constexpr void set(unsigned node) { words[node / 64] |= std::uint64_t{1} << (node % 64); }
  constexpr void clear(unsigned node) { words[node / 64] &= ~(std::uint64_t{1} << (node % 64)); }
  constexpr bool has(unsigned node) const { return node < kNodes && (words[node / 64] >> (node % 64) & 1) != 0; }
  constexpr bool empty() const {
    for (const std::uint64_t word : words) {
      if (word != 0) return false;
    }
    return true;
  }
  constexpr unsigned count() const {
    unsigned nodes = 0;
    for (const std::uint64_t word : words) nodes += static_cast<unsigned>(__builtin_popcountll(word));
    return nodes;
  }
  // The first node >= from; kNodes if there is none.
  constexpr unsigned next(unsigned from) const {
    for (unsigned node = from; node < kNodes; ++node) {
      if (has(node)) return node;
    }
    return kNodes;
  }
  bool operator==(const NodeMask&) const = default;
};

// Pages of the range that are not there yet shall come from `nodes`, from any other where these are full (never
// strictly: a strict policy ends in SIGBUS or the OOM killer). Kernels before 5.15 know one preferred node: the first.
// Pages that are there stay. Whole pages only.
int prefer_nodes(void* address, std::size_t bytes, const NodeMask& nodes);
// Back to the policy of the process.
int forget_nodes(void* address, std::size_t bytes);

// The same, and pages that are there move, in one call. Those that cannot stay where they are, without an error.
int move_range(void* address, std::size_t bytes, const NodeMask& nodes);

// Asks for each page to lie on `node`. status[i]: the node it lies on or a negated errno value, which is NOT to be
// trusted (a huge page given by its small pages reports EBUSY although it moved): ask where_are. At most INT_MAX pages.
int move_pages(void* const* pages, std::size_t count, int node, int* status);

// The node that each page lies on; negative: not there yet (-ENOENT; -EFAULT on some kernels).
int where_are(void* const* pages, std::size_t count, int* status);

}  // namespace hearth::os
