#include "scale/pattern.h"

#include <algorithm>
#include <limits>
#include <string>

namespace hearth::scale {
namespace {

Spot from_layer(const Spot& spot, std::int64_t layer) { return {spot.phase, spot.layer - layer, spot.place}; }

const Error kUnlike{
    "the layers are not alike, none uses its tensors as the next one does, and only equal ones can be repeated; if "
    "there "
    "are but two or three, trace two depths that have more"};

}  // namespace

Rule rule_of(const Layers& layers, std::span<const std::uint32_t> links, const Pattern& pattern, std::uint32_t phase,
             std::uint32_t place) {
  const std::uint32_t event = layers.event({phase, pattern.layer, place});
  const std::uint32_t target = links[event];
  if (target == kAlone) return {};
  const Spot relative = from_layer(layers.spot(target), pattern.layer);
  for (const std::int64_t layer : {pattern.layer - 1, pattern.layer + 1}) {
    if (layer < layers.phases()[phase].first() || layer > layers.phases()[phase].last()) continue;
    const std::uint32_t other = links[layers.event({phase, layer, place})];
    if (other == kAlone) continue;
    if (other == target) return {Rule::To::kEvent, {}, target};
    if (!relative.outside() && from_layer(layers.spot(other), layer) == relative)
      return {Rule::To::kLayer, relative, 0};
  }
  return {};
}

namespace {

bool has_rules(const Layers& layers, std::span<const std::uint32_t> links, const Pattern& pattern,
               std::uint32_t group) {
  for (std::uint32_t p = 0; p < layers.phases().size(); ++p) {
    const Phase& phase = layers.phases()[p];
    if (phase.group != group) continue;
    for (std::uint32_t place = 0; place < phase.stretch.period; ++place) {
      const bool points = links[layers.event({p, pattern.layer, place})] != kAlone;
      if (points && rule_of(layers, links, pattern, p, place).to == Rule::To::kNothing) return false;
    }
  }
  return true;
}

std::vector<Pattern> ranges_of(const Layers& layers) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  std::vector<Pattern> ranges(layers.groups(), Pattern{0, -kFar, kFar});
  for (const Phase& phase : layers.phases()) {
    Pattern& range = ranges[phase.group];
    range.first = std::max(range.first, phase.first());
    range.last = std::min(range.last, phase.last());
  }
  return ranges;
}

}  // namespace

Result<std::vector<Pattern>> find_patterns(const Layers& layers, std::span<const std::uint32_t> links) {
  std::vector<Pattern> patterns = ranges_of(layers);
  for (std::uint32_t group = 0; group < layers.groups(); ++group) {
    Pattern& pattern = patterns[group];
    bool found = false;
    // From the middle on, away from what only ends have.
    for (std::int64_t away = 0; away <= pattern.last - pattern.first && !found; ++away) {
      const std::int64_t half = (away + 1) / 2;
      pattern.layer = (pattern.first + pattern.last + 1) / 2 + (away % 2 != 0 ? -half : half);
      found =
          pattern.layer >= pattern.first && pattern.layer <= pattern.last && has_rules(layers, links, pattern, group);
    }
    if (!found) return kUnlike;
  }
  return patterns;
}

}  // namespace hearth::scale
