// pack: offsets for tensors whose sizes and lifetimes are known (dynamic storage allocation), in as little address
// space as can be found quickly. The problem is NP-hard; see docs/plans.md for the heuristic and what it reaches.
//
// Pure functions on values, from any thread. Deterministic unless the time budget runs out. Allocate; throw only
// std::bad_alloc. The bytes of all items together must stay below 2^62, births and deaths within the period.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::plan {

// Alive in [birth, death), or where death <= birth in [birth, period) and [0, death): time is cyclic.
struct Item {
  std::uint64_t bytes = 0;  // at least 1
  std::uint32_t birth = 0, death = 0;
  std::uint32_t group = 0;
};

struct PackOptions {
  std::uint32_t period = 0;           // births and deaths are below or at it
  std::uint32_t budget_ms = 200;      // no new attempt begins after that; the first one is always finished
  std::uint32_t attempts = 6000;      // of the local search: what normally ends it
  bool keep_groups_together = false;  // items of one group lie side by side wherever they are alive together
  bool whole_pages = true;            // those of 1 MiB and more begin at a page, if that makes no page more
};

struct Packing {
  std::vector<std::uint64_t> offsets;  // per item, multiples of kAlignment
  std::uint64_t height = 0;            // all items end at or below it
  std::uint64_t lower_bound = 0;       // most aligned bytes alive at once
  std::uint64_t grouping_cost = 0;     // with keep_groups_together: height above that of free packing
  std::uint32_t attempts = 0;          // placements tried
  bool out_of_time = false;            // another run may end elsewhere
};

Packing pack(std::span<const Item> items, const PackOptions& options);

// Most aligned bytes alive at once: no packing needs less.
std::uint64_t peak_of(std::span<const Item> items, std::uint32_t period);

}  // namespace hearth::plan
