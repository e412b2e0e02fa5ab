#include "scale/module_names.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "scale/kinds.h"

namespace hearth::scale {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::optional<std::int64_t> number_at(const std::string& name, std::size_t begin, std::size_t& end) {
  end = begin;
  while (end < name.size() && is_digit(name[end])) ++end;
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(name.data() + begin, name.data() + end, number);
  if (error != std::errc() || rest != name.data() + end) return std::nullopt;
  return number;
}

}  // namespace

ModuleNames::ModuleNames(const profile::Trace& large, std::span<const std::uint32_t> places, const Layers& layers,
                         const Cut& cut)
    : places_(places), large_(large), layers_(layers), cut_(cut), names_(large.names) {
  for (std::uint32_t i = 0; i < names_.size(); ++i) ids_.try_emplace(names_[i], i);
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    Spot spot = layers.spot(i);
    if (spot.outside() || !is_module(large.events[places[i]])) continue;
    const Phase& phase = layers.phases()[spot.phase];
    if (++spot.layer > phase.last()) continue;
    const hearth_event& next = large.events[places[layers.event(spot)]];
    learn(names_[large.events[places[i]].name], names_[next.name], spot.layer - 1, phase.group);
  }
}

void ModuleNames::learn(const std::string& name, const std::string& next, std::int64_t layer, std::uint32_t group) {
  const auto [here, there] = std::mismatch(name.begin(), name.end(), next.begin(), next.end());
  if (here == name.end() && there == next.end()) return;
  auto begin = static_cast<std::size_t>(here - name.begin());
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  std::size_t end = 0;
  std::size_t next_end = 0;
  const auto number = number_at(name, begin, end);
  const auto next_number = number_at(next, begin, next_end);
  if (!number || !next_number || name.substr(end) != next.substr(next_end)) return;
  const std::int64_t step = *next_number - *number;
  series_.try_emplace(name.substr(0, begin), Series{step, *number - step * layer, group});
}

std::uint32_t ModuleNames::id(const std::string& name) {
  const auto [at, fresh] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return at->second;
}

std::uint32_t ModuleNames::of(std::uint32_t event, std::int64_t layer) {
  const std::uint32_t same = large_.events[places_[event]].name;
  const std::string name = names_[same];
  for (const auto& [text, series] : series_) {
    if (!name.starts_with(text) || series.step == 0) continue;
    std::size_t end = 0;
    const auto number = number_at(name, text.size(), end);
    if (!number) continue;
    const Spot spot = layers_.spot(event);
    const bool behind = (*number - series.begin) / series.step > cut_.after[series.group];
    const std::int64_t more = spot.outside() ? (behind ? cut_.units : 0) : layer - spot.layer;
    return id(text + std::to_string(*number + series.step * more) + name.substr(end));
  }
  return same;
}

}  // namespace hearth::scale
