// Instances of the packing problem and plans for the tests, and a check of packings that shares no code with the
// packer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "plan/make_plan.h"
#include "plan/pack.h"
#include "plan/plan.h"

namespace hearth::plan::test {

inline std::uint64_t alive_places(const Item& item, std::uint32_t period) {
  return item.death > item.birth ? item.death - item.birth : item.death + period - item.birth;
}

inline bool alive_at(const Item& item, std::uint32_t place) {
  return item.death > item.birth ? item.birth <= place && place < item.death
                                 : item.birth <= place || place < item.death;
}

// Two lifetimes meet if either begins while the other lasts.
inline bool meet(const Item& a, const Item& b) { return alive_at(a, b.birth) || alive_at(b, a.birth); }

// "" or what is wrong with it, found by looking at every pair.
inline std::string problem_of(const std::vector<Item>& items, const Packing& packing) {
  if (packing.offsets.size() != items.size()) return "not one offset for each item";
  std::uint64_t height = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint64_t end = packing.offsets[i] + items[i].bytes;
    if (packing.offsets[i] % 64 != 0) return "item " + std::to_string(i) + " is not aligned";
    height = std::max(height, (end + 63) / 64 * 64);
    for (std::size_t j = 0; j < i; ++j) {
      if (packing.offsets[j] >= end || packing.offsets[j] + items[j].bytes <= packing.offsets[i]) continue;
      if (meet(items[i], items[j])) return "items " + std::to_string(j) + " and " + std::to_string(i) + " overlap";
    }
  }
  return height == packing.height ? "" : "the height is " + std::to_string(height);
}

// Peak of live bytes, place by place.
inline std::uint64_t peak_by_counting(const std::vector<Item>& items, std::uint32_t period) {
  std::uint64_t peak = 0;
  for (std::uint32_t place = 0; place < period; ++place) {
    std::uint64_t live = 0;
    for (const Item& item : items) live += alive_at(item, place) ? (item.bytes + 63) / 64 * 64 : 0;
    peak = std::max(peak, live);
  }
  return peak;
}

using Random = std::mt19937_64;

inline std::uint32_t below(Random& random, std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); }

// Lifetimes anywhere on the ring, whole turns among them; sizes from one byte to a thousand lines.
inline std::vector<Item> random_items(Random& random, std::uint32_t count, std::uint32_t period) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < count; ++i) {
    Item item;
    item.bytes = 1 + below(random, below(random, 4) == 0 ? 64'000 : 640);
    item.birth = below(random, period);
    item.death = below(random, 2) == 0 ? below(random, period + 1) : (item.birth + 1 + below(random, 3)) % period;
    item.group = below(random, 4);
    items.push_back(item);
  }
  return items;
}

// A training step in miniature: what forward makes in layer k is freed by backward in layer k, each layer uses scratch,
// and gradients live on until the next iteration's forward pass begins.
struct Step {
  std::vector<Item> items;
  std::uint32_t period = 0;
};

inline Step training_step(Random& random, std::uint32_t layers) {
  Step step;
  std::uint32_t place = layers;  // gradients of the last iteration die before that
  std::vector<std::size_t> kept;
  const auto scratch = [&] {
    const std::uint64_t bytes = 64 * (1 + below(random, 20'000));
    step.items.push_back({.bytes = bytes, .birth = place, .death = place + 3, .group = 0});
    place += 4;
  };
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    scratch();
    kept.push_back(step.items.size());
    step.items.push_back({.bytes = 64 * (1 + below(random, 40'000)), .birth = place - 2, .death = 0, .group = 1});
  }
  for (std::uint32_t layer = layers; layer-- > 0;) {
    scratch();
    step.items.push_back({.bytes = 64 * (1 + below(random, 9'000)), .birth = place++, .death = layer, .group = 2});
    step.items[kept[layer]].death = place++;
  }
  step.period = place + 1;
  return step;
}

inline Packing packed(const std::vector<Item>& items, std::uint32_t period, std::uint32_t attempts = 6000) {
  return pack(items, {.period = period, .budget_ms = 60'000, .attempts = attempts});
}

}  // namespace hearth::plan::test
