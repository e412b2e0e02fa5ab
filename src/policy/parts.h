// Parts: what a policy places. An object, or a slice of a large one, with its uses grouped into clusters: between two
// clusters there is time enough to send it away and to fetch it back.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/grid.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

// An op that uses the part, and by how much longer its traffic takes when the part is slow.
struct Visit {
  std::uint32_t op = 0;
  double more_ns = 0;
  bool writes = false;
};

// Uses that follow each other closely: all of them find the part on the same tier.
struct Cluster {
  std::uint32_t first_visit = 0, visits = 0;  // into Parts::visits
  Range slots;
  bool writes = false;  // some of them
};

struct Part {
  std::uint32_t object = 0;
  double share = 1;                               // of the object
  std::uint64_t bytes = 0;                        // whole pages
  std::uint32_t first_cluster = 0, clusters = 0;  // into Parts::clusters, in order of its life
  Range life;                                     // in slots
  bool resident = false;
  bool whole = false;  // of an object that a plan gives a place
};

struct Parts {
  std::vector<Part> parts;
  std::vector<Cluster> clusters;
  std::vector<Visit> visits;
  std::vector<double> base_ns;  // by op: its traffic with all parts fast
};

constexpr std::uint32_t kMostClusters = 5;

// Objects larger than `slice` are cut into slices of about that size, at most kMostSlices.
constexpr std::uint32_t kMostSlices = 16;

Parts make_parts(const simulate::Workload& workload, const tier::Machine& machine, const Grid& grid,
                 std::uint64_t slice);

}  // namespace hearth::policy
