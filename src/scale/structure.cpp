#include "scale/structure.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "scale/alike.h"
#include "scale/links.h"

namespace hearth::scale {
namespace {

Sequence sequence_of(const Compared& compared) { return {compared.kinds, compared.plain}; }

// The middle of each group, and other places further and further away from it.
std::optional<std::vector<std::int64_t>> cut_of(const Both& both, const Repeats& repeats, const Layers& layers,
                                                std::span<const Pattern> patterns) {
  const auto units = static_cast<std::int64_t>(repeats.inserted_units);
  std::int64_t widest = 0;
  for (const Pattern& pattern : patterns) widest = std::max(widest, pattern.last - pattern.first);
  for (std::int64_t away = 0; away <= 2 * widest; ++away) {
    Cut cut{{}, -units};
    for (const Pattern& pattern : patterns) {
      const std::int64_t middle = (pattern.first + pattern.last - units) / 2;
      const std::int64_t there = middle + (away % 2 != 0 ? -(away + 1) / 2 : away / 2);
      cut.after.push_back(std::clamp(there, pattern.first - 1, pattern.last - units));
    }
    const auto less = Deepener(layers, patterns, cut, both.large.places.size()).deepened(both.large_links);
    const Strings strings{sequence_of(both.small), sequence_of(both.large), both.small_links, both.large_links,
                          repeats};
    if (less && alike(strings, layers, *less)) return cut.after;
  }
  return std::nullopt;
}

const Error kUnproven{
    "layers were found, but the deeper trace without those that it has more is not the smaller one: which tensors they "
    "use "
    "does not follow from their place; if there are but two or three, trace two depths that have more"};

Result<Structure> structure_in(const Both& both, std::uint32_t steps) {
  Result<Repeats> repeats = find_repeats(sequence_of(both.small), sequence_of(both.large), steps);
  if (!repeats) return Error{repeats.error()};
  for (const Stretch& stretch : repeats->stretches) {
    if (stretch.units <= repeats->inserted_units) {
      return Error{
          "the layers that the deeper trace has more are not like those before them; trace two depths that have " +
          std::to_string(steps) + " layers more"};
    }
  }
  Layers layers(repeats->stretches, both.large_links);
  Result<std::vector<Pattern>> patterns = find_patterns(layers, both.large_links);
  if (!patterns) return Error{patterns.error()};
  auto after = cut_of(both, *repeats, layers, *patterns);
  if (!after) return kUnproven;
  return Structure{std::move(*repeats), std::move(layers), std::move(*patterns), std::move(*after)};
}

}  // namespace

Both both_of(const profile::Trace& small, const profile::Trace& large, Kinds::Of of) {
  Kinds kinds(of);
  Both both{kinds.of(small), kinds.of(large), {}, {}};
  both.small_links = links_of(small, both.small.places, Link::kTensor);
  both.large_links = links_of(large, both.large.places, Link::kTensor);
  return both;
}

Result<Structure> structure_of(const Both& both, std::uint32_t steps) {
  Result<Structure> first = structure_in(both, steps);
  for (std::uint32_t units = steps / 2; !first && units > 0; --units) {
    if (steps % units != 0) continue;
    if (Result<Structure> found = structure_in(both, units)) return found;
  }
  return first;
}

}  // namespace hearth::scale
