#include "policy/modes.h"

#include <algorithm>
#include <bit>

namespace hearth::policy {
namespace {

using tier::time_of;

constexpr double kNever = 1e300;

class Pricer {
 public:
  Pricer(const Parts& parts, const Part& part, const Grid& grid, const Durations& durations, const Prices& prices)
      : part_(part), grid_(grid), durations_(durations), prices_(prices), bytes_(static_cast<double>(part.bytes)) {
    const std::uint32_t count = part.clusters;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Range gap = gap_behind(parts, part, i, grid.count());
      const double gap_ns = gap.empty() ? 0 : grid.begin_ns(gap.to) - grid.begin_ns(gap.from);
      in_[i] = bytes_ * prices.held.over(parts.clusters[part.first_cluster + i].slots);
      stay_[i] = bytes_ * prices.held.over(gap);
      leave_[i] = gap_ns >= durations.to_slow ? leave(gap) : kNever;
      come_[i] = gap_ns >= durations.to_fast ? come(gap) : kNever;
      const bool both = gap_ns >= durations.to_slow + durations.to_fast;
      away_[i] = both ? leave_[i] + come_[i] : kNever;
      writes_[i] = parts.clusters[part.first_cluster + i].writes;
    }
  }

  // The price of being fast in these clusters; sets which gaps it stays fast through.
  double price(std::uint8_t fast, std::uint8_t* stays) const {
    bool dirty = true;
    double sum = once_around(fast, stays, dirty);
    // What a resident is like as the iteration begins is what it was like as the last one ended.
    if (part_.resident && durations_.free_if_clean) sum = once_around(fast, stays, dirty);
    return sum;
  }

 private:
  double once_around(std::uint8_t fast, std::uint8_t* stays, bool& dirty) const {
    double sum = 0;
    *stays = 0;
    for (std::uint32_t i = 0; i < part_.clusters; ++i) {
      const bool here = (fast >> i & 1) != 0;
      const bool last = i + 1 == part_.clusters;
      if (here) sum += in_[i];
      dirty |= here && writes_[i];
      if (last && !part_.resident) break;
      const bool next = (fast >> (last ? 0 : i + 1) & 1) != 0;
      const double away = dirty ? away_[i] : come_[i];
      if (here && next && stay_[i] <= away) {
        sum += stay_[i];
        *stays |= static_cast<std::uint8_t>(1u << i);
        continue;
      }
      if (here && next) {
        sum += away;
      } else if (here) {
        sum += dirty ? leave_[i] : 0;
      } else if (next) {
        sum += come_[i];
      }
      if (next) dirty = !durations_.free_if_clean;
    }
    return sum;
  }
  double leave(Range gap) const {
    const Range way{gap.from, grid_.after(gap.from, durations_.to_slow, gap.to)};
    return prices_.lanes[1].over(way) + prices_.toll.over(way) + bytes_ * prices_.held.over(way);
  }
  double come(Range gap) const {
    const Range way{grid_.before(gap.to, durations_.to_fast, gap.from), gap.to};
    return prices_.lanes[0].over(way) + prices_.toll.over(way) + bytes_ * prices_.held.over(way);
  }

  const Part& part_;
  const Grid& grid_;
  const Durations& durations_;
  const Prices& prices_;
  double bytes_;
  double in_[kMostClusters], stay_[kMostClusters], leave_[kMostClusters], come_[kMostClusters], away_[kMostClusters];
  bool writes_[kMostClusters];
};

}  // namespace

Durations::Durations(const tier::Machine& machine, double bytes)
    : to_fast(time_of(bytes, machine.move_to_fast)), to_slow(time_of(bytes, machine.move_to_slow)) {}

std::uint8_t clean_leaves(const Parts& parts, const Part& part, std::uint8_t fast, std::uint8_t stays) {
  const std::uint32_t count = part.clusters;
  // A resident's first fetch may be in the iteration before.
  const std::uint32_t rounds = part.resident ? 2 : 1;
  bool dirty = true;
  std::uint8_t clean = 0;
  for (std::uint32_t at = 0; at < rounds * count; ++at) {
    const std::uint32_t i = at % count;
    const bool here = (fast >> i & 1) != 0;
    const bool next = (fast >> (i + 1) % count & 1) != 0;
    dirty |= here && parts.clusters[part.first_cluster + i].writes;
    if (here && next && (stays >> i & 1) != 0) continue;
    if (here && !dirty) clean |= static_cast<std::uint8_t>(1u << i);
    if (next) dirty = false;
  }
  return clean;
}

Range gap_behind(const Parts& parts, const Part& part, std::uint32_t i, std::uint32_t slots) {
  const Cluster* clusters = &parts.clusters[part.first_cluster];
  if (i + 1 < part.clusters) return {clusters[i].slots.to, clusters[i + 1].slots.from};
  if (part.resident) return {clusters[i].slots.to, clusters[0].slots.from + slots};
  return {part.life.to, part.life.to};
}

void Modes::add(const Mode& mode) {
  if (count == kMostModes && mode.net() <= modes[count - 1].net()) return;
  std::uint32_t at = count < kMostModes ? count++ : count - 1;
  for (; at > 0 && modes[at - 1].net() < mode.net(); --at) modes[at] = modes[at - 1];
  modes[at] = mode;
}

Modes best_modes(const Parts& parts, const Part& part, const Grid& grid, const Durations& durations,
                 const Savings& savings, const Prices& prices) {
  Modes best;
  const Pricer pricer(parts, part, grid, durations, prices);
  const auto all = static_cast<std::uint8_t>((1u << part.clusters) - 1);
  for (std::uint32_t bits = 1; bits <= all; ++bits) {
    Mode mode;
    mode.fast = static_cast<std::uint8_t>(bits);
    for (std::uint32_t i = 0; i < part.clusters; ++i) mode.saving += (bits >> i & 1) != 0 ? savings[i] : 0;
    mode.price = pricer.price(mode.fast, &mode.stays);
    if (mode.saving > 0 && mode.price < kNever / 2) best.add(mode);
    // All fast, one more time: what is scarce may be the lanes.
    if (mode.fast == all && mode.stays != all) {
      mode.stays = all;
      mode.price = static_cast<double>(part.bytes) * prices.held.over(part.life);
      if (mode.saving > 0) best.add(mode);
    }
  }
  if (part.whole) {
    Mode mode;
    mode.fast = mode.stays = all;
    mode.pooled = true;
    for (std::uint32_t i = 0; i < part.clusters; ++i) mode.saving += savings[i];
    mode.price = static_cast<double>(part.bytes) * prices.pooled.over(part.life);
    if (mode.saving > 0) best.add(mode);
  }
  return best;
}

}  // namespace hearth::policy
