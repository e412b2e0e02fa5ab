#include "plan/pack.h"

#include <algorithm>
#include <numeric>

#include "plan/plan.h"
#include "plan/search.h"

namespace hearth::plan {
namespace {

constexpr std::uint64_t kLarge = 1 << 20;

struct Ring {
  std::vector<Arc> arcs;
  std::uint32_t period = 1;
};

// Only the order of births and deaths matters: places at which no item begins or ends are left out.
Ring ring_of(std::span<const Item> items, std::uint32_t period) {
  std::vector<std::uint32_t> places;
  places.reserve(2 * items.size());
  for (const Item& item : items) {
    places.push_back(item.birth % period);
    places.push_back(item.death % period);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  Ring ring;
  ring.period = std::max(1u, static_cast<std::uint32_t>(places.size()));
  const auto rank = [&](std::uint32_t place) {
    return static_cast<std::uint32_t>(std::lower_bound(places.begin(), places.end(), place % period) - places.begin());
  };
  ring.arcs.reserve(items.size());
  for (const Item& item : items) {
    const std::uint32_t start = rank(item.birth), end = rank(item.death);
    const std::uint32_t length = end > start ? end - start : end + ring.period - start;
    ring.arcs.push_back({.bytes = aligned(item.bytes), .start = start, .length = length});
  }
  return ring;
}

std::uint64_t peak_of(const Ring& ring) {
  const std::vector<std::uint64_t> live = live_bytes(ring.arcs, ring.period);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

std::uint64_t height_of(std::span<const Arc> arcs, std::span<const std::uint64_t> offsets) {
  std::uint64_t height = 0;
  for (std::size_t i = 0; i < arcs.size(); ++i) height = std::max(height, offsets[i] + arcs[i].bytes);
  return height;
}

// The same order once more, large items at whole pages: they then share no page with a neighbour.
std::vector<std::uint64_t> at_pages(const Ring& ring, std::span<const std::uint32_t> order) {
  Placement placement(ring.arcs, ring.period);
  std::vector<std::uint64_t> offsets(order.size());
  for (const std::uint32_t item : order) {
    offsets[item] = placement.lowest_fit(item, ring.arcs[item].bytes >= kLarge ? kPage : kAlignment);
    placement.put(item, offsets[item]);
  }
  return offsets;
}

using Clock = std::chrono::steady_clock;

Packing pack_freely(std::span<const Item> items, const PackOptions& options, Clock::time_point deadline) {
  Packing packing;
  if (items.empty()) return packing;
  const Ring ring = ring_of(items, options.period);
  packing.lower_bound = peak_of(ring);
  Found found = search(ring.arcs, ring.period,
                       {.lower_bound = packing.lower_bound, .attempts = options.attempts, .deadline = deadline});
  packing.offsets = std::move(found.offsets);
  packing.height = found.height;
  packing.attempts = found.attempts;
  packing.out_of_time = found.out_of_time;
  if (options.whole_pages) {
    std::vector<std::uint64_t> offsets = at_pages(ring, found.order);
    const std::uint64_t height = height_of(ring.arcs, offsets);
    if (whole_pages(height) <= whole_pages(packing.height)) {
      packing.offsets = std::move(offsets);
      packing.height = height;
    }
  }
  return packing;
}

// Items of one group that follow from each other by being alive together: they are one box in the outer packing.
struct Box {
  std::vector<std::uint32_t> members;
  std::uint32_t birth = 0, length = 0;
};

// The boxes of one group; `members` are its items by birth. Sweeping twice around the ring joins the last box to the
// first one where items wrap.
std::vector<Box> boxes_of(std::span<const Item> items, std::vector<std::uint32_t> members, std::uint32_t period) {
  const auto length = [&](std::uint32_t item) {
    const Item& it = items[item];
    return it.death > it.birth ? it.death - it.birth : it.death + period - it.birth;
  };
  std::vector<Box> boxes;
  std::uint64_t reach = 0;
  for (const std::uint32_t item : members) {
    const std::uint64_t end = std::uint64_t{items[item].birth} + length(item);
    if (boxes.empty() || items[item].birth >= reach) {
      boxes.push_back({.members = {}, .birth = items[item].birth, .length = 0});
      reach = 0;
    }
    reach = std::max(reach, end);
    boxes.back().members.push_back(item);
    boxes.back().length = static_cast<std::uint32_t>(std::min<std::uint64_t>(reach - boxes.back().birth, period));
  }
  // The last box may reach around into the first ones, each of which may bring it further.
  std::size_t joined = 0;
  Box& last = boxes.back();
  while (joined + 1 < boxes.size() && std::uint64_t{last.birth} + last.length > period + boxes[joined].birth) {
    const Box& first = boxes[joined++];
    last.members.insert(last.members.end(), first.members.begin(), first.members.end());
    last.length = std::min(period, std::max(last.length, period - last.birth + first.birth + first.length));
  }
  boxes.erase(boxes.begin(), boxes.begin() + static_cast<std::ptrdiff_t>(joined));
  return boxes;
}

std::vector<Box> all_boxes(std::span<const Item> items, std::uint32_t period) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(items[a].group, items[a].birth) < std::pair(items[b].group, items[b].birth);
  });
  std::vector<Box> boxes;
  for (auto first = order.begin(); first != order.end();) {
    const auto last =
        std::find_if(first, order.end(), [&](std::uint32_t item) { return items[item].group != items[*first].group; });
    for (Box& box : boxes_of(items, {first, last}, period)) boxes.push_back(std::move(box));
    first = last;
  }
  return boxes;
}

// Boxes first, each packed by itself, then the boxes among each other.
Packing pack_boxes(std::span<const Item> items, const PackOptions& options, Clock::time_point deadline) {
  const std::vector<Box> boxes = all_boxes(items, options.period);
  Packing packing;
  packing.offsets.resize(items.size());
  std::vector<Item> outer;
  for (const Box& box : boxes) {
    std::vector<Item> inner;
    for (const std::uint32_t item : box.members) inner.push_back(items[item]);
    const Packing within = pack_freely(inner, options, deadline);
    packing.attempts += within.attempts;
    packing.out_of_time = packing.out_of_time || within.out_of_time;
    for (std::size_t i = 0; i < inner.size(); ++i) packing.offsets[box.members[i]] = within.offsets[i];
    const std::uint32_t death = static_cast<std::uint32_t>((std::uint64_t{box.birth} + box.length) % options.period);
    outer.push_back({.bytes = within.height, .birth = box.birth, .death = death, .group = 0});
  }
  const Packing around = pack_freely(outer, options, deadline);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (const std::uint32_t item : boxes[i].members) packing.offsets[item] += around.offsets[i];
  }
  packing.height = around.height;
  packing.attempts += around.attempts;
  packing.out_of_time = packing.out_of_time || around.out_of_time;
  return packing;
}

}  // namespace

std::uint64_t peak_of(std::span<const Item> items, std::uint32_t period) { return peak_of(ring_of(items, period)); }

Packing pack(std::span<const Item> items, const PackOptions& options) {
  const Clock::time_point start = Clock::now();
  const std::chrono::milliseconds budget(options.budget_ms);
  if (!options.keep_groups_together || items.empty()) return pack_freely(items, options, start + budget);
  const Packing free = pack_freely(items, options, start + budget / 2);
  Packing packing = pack_boxes(items, options, start + budget);
  packing.lower_bound = free.lower_bound;
  packing.grouping_cost = packing.height - std::min(packing.height, free.height);
  packing.attempts += free.attempts;
  packing.out_of_time = packing.out_of_time || free.out_of_time;
  return packing;
}

}  // namespace hearth::plan
