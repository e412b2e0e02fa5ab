#include "policy/improve.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

namespace hearth::policy {
namespace {

// So many uses, at most, are looked at together.
constexpr std::uint32_t kFewest = 2, kMost = 22;

// Every cluster of every part, in the order of the iteration: its part.
std::vector<std::uint32_t> by_time(const Placing& placing) {
  const Parts& parts = placing.parts();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // slot, part
  for (std::uint32_t p = 0; p < parts.parts.size(); ++p) {
    const Part& part = parts.parts[p];
    for (std::uint32_t i = 0; i < part.clusters; ++i) {
      uses.emplace_back(parts.clusters[part.first_cluster + i].slots.from % placing.grid().count(), p);
    }
  }
  std::sort(uses.begin(), uses.end());
  std::vector<std::uint32_t> order;
  order.reserve(uses.size());
  for (const auto& [slot, part] : uses) order.push_back(part);
  return order;
}

// What it saves for what it takes, in its best way.
double worth(const Modes& modes) {
  double best = 0;
  for (std::uint32_t i = 0; i < modes.count; ++i) {
    best = std::max(best, modes.modes[i].saving / std::max(modes.modes[i].price, 1e-9));
  }
  return best;
}

// The prices are those of a time at which everything was still to be placed. What is left of the room and of the lanes
// is there for less.
constexpr double kDiscounts[] = {0, 0.05, 0.25, 1};

void place(Placing& placing, std::uint32_t p, double discount) {
  Modes modes = placing.modes_of(p);
  const auto net = [&](const Mode& mode) { return mode.saving - discount * mode.price; };
  std::stable_sort(modes.modes.begin(), modes.modes.begin() + modes.count,
                   [&](const Mode& a, const Mode& b) { return net(a) > net(b); });
  for (std::uint32_t i = 0; i < modes.count; ++i) {
    if (modes.modes[i].saving > 0 && placing.try_place(p, modes.modes[i])) return;
  }
}

}  // namespace

void improve(Placing& placing, int tries) {
  const std::vector<std::uint32_t> uses = by_time(placing);
  if (uses.empty()) return;
  std::mt19937 random(1);
  std::vector<std::pair<double, std::uint32_t>> order;
  std::vector<std::pair<std::uint32_t, Placing::Kept>> out;
  for (int i = 0; i < tries; ++i) {
    const double before = placing.cost();
    const std::size_t from = random() % uses.size();
    const std::size_t to = std::min<std::size_t>(uses.size(), from + kFewest + random() % (kMost - kFewest));
    out.clear();
    for (std::size_t use = from; use < to; ++use) {
      const std::uint32_t p = uses[use];
      const auto same = [&](const auto& each) { return each.first == p; };
      if (std::none_of(out.begin(), out.end(), same)) out.emplace_back(p, placing.take_out(p));
    }
    order.clear();
    for (const auto& [p, kept] : out) {
      const double half_to_double = 0.5 + static_cast<double>(random() % 1024) / 1024 * 1.5;
      order.emplace_back(-worth(placing.modes_of(p)) * half_to_double, p);
    }
    std::sort(order.begin(), order.end());
    const double discount = kDiscounts[random() % std::size(kDiscounts)];
    for (const auto& [key, p] : order) place(placing, p, discount);
    if (placing.cost() <= before) continue;
    for (const auto& [p, kept] : out) placing.take_out(p);
    for (auto& [p, kept] : out) placing.put_back(p, std::move(kept));
  }
}

}  // namespace hearth::policy
