// Modes: the ways in which one part can lie in its clusters, and what each saves and takes.
//
// Pure; no allocation.
#pragma once

#include <array>
#include <cstdint>

#include "policy/grid.h"
#include "policy/parts.h"
#include "policy/prices.h"
#include "tier/machine.h"

namespace hearth::policy {

struct Mode {
  std::uint8_t fast = 0;   // bit per cluster
  std::uint8_t stays = 0;  // bit per gap behind a cluster: fast through it
  bool pooled = false;
  double saving = 0;  // ns of the step
  double price = 0;   // ns

  double net() const { return saving - price; }
};

struct Prices {
  Price held, pooled;
  Price lanes[2];  // of a whole slot
  Price toll;      // likewise, of either lane, whatever else is in it: what moves make ops longer by (interference)
};

// How long the part's moves take.
struct Durations {
  double to_fast = 0, to_slow = 0;
  bool free_if_clean = false;  // to slow: not while prices are found, which it would make swing

  Durations(const tier::Machine& machine, double bytes);
};

// The gap behind cluster `i`, in positions of its life; behind a resident's last one the next iteration begins.
Range gap_behind(const Parts& parts, const Part& part, std::uint32_t i, std::uint32_t slots);

// Bit per gap: the part leaves there, and has not been written since it was fetched.
std::uint8_t clean_leaves(const Parts& parts, const Part& part, std::uint8_t fast, std::uint8_t stays);

// In the order of net gain, best first; all of them fast in some cluster. `savings`: of each cluster.
using Savings = std::array<double, kMostClusters>;
constexpr std::uint32_t kMostModes = 8;
struct Modes {
  std::array<Mode, kMostModes> modes;
  std::uint32_t count = 0;

  void add(const Mode& mode);
};
Modes best_modes(const Parts& parts, const Part& part, const Grid& grid, const Durations& durations,
                 const Savings& savings, const Prices& prices);

}  // namespace hearth::policy
