#include "policy/fill.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace hearth::policy {
namespace {

// ns that its traffic takes longer when slow, hidden or not, for each byte of room and slot of its life.
double use_of(const Parts& parts, const Part& part) {
  double more_ns = 0;
  for (std::uint32_t i = 0; i < part.clusters; ++i) {
    const Cluster& cluster = parts.clusters[part.first_cluster + i];
    for (std::uint32_t v = 0; v < cluster.visits; ++v) more_ns += parts.visits[cluster.first_visit + v].more_ns;
  }
  return more_ns / (static_cast<double>(part.bytes) * std::max(1u, part.life.to - part.life.from));
}

}  // namespace

void fill(Placing& placing) {
  const Parts& parts = placing.parts();
  std::vector<std::pair<double, std::uint32_t>> order;
  for (std::uint32_t p = 0; p < parts.parts.size(); ++p) {
    if (!placing.placement(p).slow()) continue;
    if (const double use = use_of(parts, parts.parts[p]); use > 0) order.emplace_back(-use, p);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [use, p] : order) {
    Mode mode;
    mode.fast = mode.stays = static_cast<std::uint8_t>((1u << parts.parts[p].clusters) - 1);
    if (placing.try_place(p, mode)) continue;
    mode.pooled = true;
    if (parts.parts[p].whole) placing.try_place(p, mode);
  }
}

}  // namespace hearth::policy
