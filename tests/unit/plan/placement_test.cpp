// Placement against a model that looks at every pair; skylines are packings.
#include "plan/placement.h"

#include <gtest/gtest.h>

#include <utility>

#include "plan/skyline.h"
#include "unit/plan/instances.h"

namespace hearth::plan {
namespace {

using test::below;
using test::Random;

struct Put {
  std::uint32_t item;
  std::uint64_t offset;
};

bool meet(const Arc& a, const Arc& b, std::uint32_t period) {
  for (std::uint32_t i = 0; i < a.length; ++i) {
    for (std::uint32_t j = 0; j < b.length; ++j) {
      if ((a.start + i) % period == (b.start + j) % period) return true;
    }
  }
  return false;
}

std::vector<Arc> random_arcs(Random& random, std::uint32_t count, std::uint32_t period) {
  std::vector<Arc> arcs;
  for (std::uint32_t i = 0; i < count; ++i) {
    arcs.push_back({.bytes = 64ul * (1 + below(random, 30)),
                    .start = below(random, period),
                    .length = 1 + below(random, below(random, 5) == 0 ? period : 4)});
  }
  return arcs;
}

std::uint64_t lowest_by_trying(const std::vector<Arc>& arcs, std::uint32_t period, const std::vector<Put>& puts,
                               std::uint32_t item, std::uint64_t alignment) {
  for (std::uint64_t offset = 0;; offset += alignment) {
    bool free = true;
    for (const Put& put : puts) {
      const bool apart = offset + arcs[item].bytes <= put.offset || put.offset + arcs[put.item].bytes <= offset;
      free = free && (apart || !meet(arcs[item], arcs[put.item], period));
    }
    if (free) return offset;
  }
}

TEST(Placement, FindsTheLowestFitThroughPutsAndRemovals) {
  Random random(11);
  const std::uint32_t period = 12;
  const std::vector<Arc> arcs = random_arcs(random, 400, period);
  Placement placement(arcs, period);
  std::vector<Put> puts;
  std::vector<std::uint32_t> out(arcs.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) out[i] = i;
  for (int step = 0; step < 3000; ++step) {
    // Up to all, down to none, and up again: blocks split and vanish.
    const bool putting = puts.empty() || (!out.empty() && below(random, 10) < (step / 1000 == 1 ? 2u : 8u));
    std::vector<std::uint32_t> none;
    if (putting) {
      std::swap(out[below(random, static_cast<std::uint32_t>(out.size()))], out.back());
      const std::uint32_t item = out.back();
      const std::uint64_t alignment = 64ull << below(random, 3);
      const std::uint64_t offset = placement.lowest_fit(item, alignment);
      ASSERT_EQ(offset, lowest_by_trying(arcs, period, puts, item, alignment)) << "step " << step;
      placement.put(item, offset);
      puts.push_back({item, offset});
      out.pop_back();
    } else {
      std::swap(puts[below(random, static_cast<std::uint32_t>(puts.size()))], puts.back());
      placement.remove(puts.back().item, puts.back().offset);
      out.push_back(puts.back().item);
      puts.pop_back();
    }
  }
}

TEST(Placement, ClearedItIsEmpty) {
  const std::vector<Arc> arcs = {{.bytes = 64, .start = 0, .length = 2}, {.bytes = 64, .start = 1, .length = 1}};
  Placement placement(arcs, 4);
  placement.put(0, 0);
  EXPECT_EQ(placement.lowest_fit(1, 64), 64u);
  placement.clear();
  EXPECT_EQ(placement.lowest_fit(1, 64), 0u);
}

TEST(Placement, LiveBytesGoAroundTheRing) {
  const std::vector<Arc> arcs = {{.bytes = 64, .start = 3, .length = 2}, {.bytes = 128, .start = 1, .length = 4}};
  EXPECT_EQ(live_bytes(arcs, 4), (std::vector<std::uint64_t>{192, 128, 128, 192}));
}

TEST(Skyline, IsAlwaysAPacking) {
  Random random(12);
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t period = 1 + below(random, 25);
    const std::vector<Arc> arcs = random_arcs(random, 1 + below(random, 30), period + 3);
    std::vector<Arc> ring = arcs;
    for (Arc& arc : ring) arc = {arc.bytes, arc.start % period, std::min(arc.length, period)};
    std::vector<double> values;
    for (std::size_t i = 0; i < ring.size(); ++i) values.push_back(below(random, 8));
    const std::vector<std::uint64_t> offsets = skyline(ring, period, values);
    for (std::uint32_t a = 0; a < ring.size(); ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const bool apart = offsets[a] + ring[a].bytes <= offsets[b] || offsets[b] + ring[b].bytes <= offsets[a];
        ASSERT_TRUE(apart || !meet(ring[a], ring[b], period)) << "round " << round << ": " << a << ", " << b;
      }
    }
  }
}

}  // namespace
}  // namespace hearth::plan
