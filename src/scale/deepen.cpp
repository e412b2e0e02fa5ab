#include "scale/deepen.h"

#include "scale/align.h"

namespace hearth::scale {

Deepener::Deepener(const Layers& layers, std::span<const Pattern> patterns, const Cut& cut, std::size_t events)
    : layers_(layers), patterns_(patterns), cut_(cut), outside_(events, kAlone) {
  std::uint32_t event = 0;
  for (std::uint32_t phase = 0; phase <= layers.phases().size(); ++phase) {
    const bool more = phase < layers.phases().size();
    const auto end = more ? layers.phases()[phase].stretch.begin : static_cast<std::uint32_t>(events);
    for (; event < end; ++event) {
      outside_[event] = static_cast<std::uint32_t>(events_.size());
      events_.push_back({event, 0, false});
    }
    if (!more) break;
    add_phase(phase);
    event = layers.phases()[phase].stretch.end();
  }
}

void Deepener::add_phase(std::uint32_t index) {
  const Phase& phase = layers_.phases()[index];
  const std::int64_t after = cut_.after[phase.group];
  begins_.push_back(static_cast<std::uint32_t>(events_.size()));
  const std::int64_t units = phase.stretch.units + cut_.units;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::int64_t layer = phase.direction > 0 ? phase.first() + unit : phase.last() + cut_.units - unit;
    const bool added = layer > after && layer <= after + cut_.units;
    const std::int64_t like = added ? patterns_[phase.group].layer : layer <= after ? layer : layer - cut_.units;
    for (std::uint32_t place = 0; place < phase.stretch.period; ++place) {
      events_.push_back({layers_.event({index, like, place}), layer, added});
    }
  }
}

std::optional<std::uint32_t> Deepener::place(const Spot& spot) const {
  const Phase& phase = layers_.phases()[spot.phase];
  if (spot.layer < phase.first() || spot.layer > phase.last() + cut_.units) return std::nullopt;
  const std::int64_t unit = phase.direction > 0 ? spot.layer - phase.first() : phase.last() + cut_.units - spot.layer;
  return begins_[spot.phase] + static_cast<std::uint32_t>(unit) * phase.stretch.period + spot.place;
}

// Where an event has come to that was there before.
std::optional<std::uint32_t> Deepener::moved(std::uint32_t event) const {
  Spot spot = layers_.spot(event);
  if (spot.outside()) return outside_[event];
  const std::int64_t after = cut_.after[layers_.phases()[spot.phase].group];
  if (spot.layer > after) {
    if (spot.layer <= after - cut_.units) return std::nullopt;
    spot.layer += cut_.units;
  }
  return place(spot);
}

std::optional<std::uint32_t> Deepener::target(const At& at, std::span<const std::uint32_t> links) const {
  const std::uint32_t target = links[at.event];
  const Spot from = layers_.spot(at.event);
  Spot to = layers_.spot(target);
  if (from.outside() || to.outside()) return moved(target);
  const Rule rule = rule_of(layers_, links, patterns_[layers_.phases()[from.phase].group], from.phase, from.place);
  to.layer -= from.layer;
  if (rule.to != Rule::To::kLayer || rule.target != to) return moved(target);
  to.layer += at.layer;
  return place(to);
}

std::optional<std::uint32_t> Deepener::beside(std::uint32_t at, std::uint32_t event) const {
  const Spot from = layers_.spot(events_[at].event);
  Spot to = layers_.spot(event);
  if (from.outside() || to.outside()) return moved(event);
  to.layer += events_[at].layer - from.layer;
  return place(to);
}

std::optional<Deepened> Deepener::deepened(std::span<const std::uint32_t> links) const {
  Deepened made;
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    const At& at = events_[i];
    made.events.push_back(at.event);
    made.added.push_back(at.added);
    made.links.push_back(kAlone);
    if (links[at.event] == kAlone) continue;
    const auto to = target(at, links);
    if (!to || *to > i) return std::nullopt;
    made.links.back() = *to == i ? i : made.links[*to];
    if (made.links.back() == kAlone) return std::nullopt;
  }
  return made;
}

}  // namespace hearth::scale
