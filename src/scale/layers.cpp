#include "scale/layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "scale/align.h"

namespace hearth::scale {

// How units of one phase follow from those of another: unit = offset + direction * the other's unit.
struct Layers::Tie {
  std::uint32_t from = 0, to = 0;
  std::int64_t direction = 1, offset = 0;
  std::uint64_t events = 0;
};

namespace {

struct Votes {
  std::uint64_t events = 0;
  std::set<std::uint32_t> units;
};

}  // namespace

Layers::Layers(std::span<const Stretch> stretches, std::span<const std::uint32_t> links)
    : phase_of_(links.size(), kAlone) {
  for (const Stretch& stretch : stretches) {
    std::fill(phase_of_.begin() + stretch.begin, phase_of_.begin() + stretch.end(),
              static_cast<std::uint32_t>(phases_.size()));
    phases_.push_back({stretch, kAlone, 1, 0});
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>, Votes> votes;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    if (links[i] == kAlone || links[i] == i) continue;
    const Spot from = spot(links[i]);  // as long as all origins are 0, layers are units
    const Spot to = spot(i);
    if (from.outside() || to.outside() || from.phase == to.phase) continue;
    for (const std::int64_t direction : {1, -1}) {
      Votes& of = votes[{from.phase, to.phase, direction, to.layer - direction * from.layer}];
      ++of.events;
      of.units.insert(static_cast<std::uint32_t>(from.layer));
    }
  }
  // A single unit would fit both directions.
  std::vector<Tie> ties;
  for (const auto& [key, of] : votes) {
    if (of.units.size() > 1)
      ties.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), of.events});
  }
  std::stable_sort(ties.begin(), ties.end(), [](const Tie& a, const Tie& b) { return a.events > b.events; });
  join(ties);
}

// The best tie that leads out of what is joined, as long as there is one; then the next group.
void Layers::join(std::span<const Tie> ties) {
  const auto joined = [&](std::uint32_t phase) { return phases_[phase].group != kAlone; };
  for (std::uint32_t begin = 0; begin < phases_.size(); ++begin) {
    if (joined(begin)) continue;
    phases_[begin].group = groups_;
    const auto leads_out = [&](const Tie& tie) {
      return joined(tie.from) != joined(tie.to) &&
             (phases_[tie.from].group == groups_ || phases_[tie.to].group == groups_);
    };
    for (auto next = std::find_if(ties.begin(), ties.end(), leads_out); next != ties.end();
         next = std::find_if(ties.begin(), ties.end(), leads_out)) {
      const Phase& from = phases_[next->from];
      const Phase& to = phases_[next->to];
      // The layer of unit u of `from` is that of unit offset + direction * u of `to`.
      if (joined(next->from)) {
        phases_[next->to] = {to.stretch, groups_, from.direction * next->direction,
                             from.origin - from.direction * next->direction * next->offset};
      } else {
        phases_[next->from] = {from.stretch, groups_, to.direction * next->direction,
                               to.origin + to.direction * next->offset};
      }
    }
    ++groups_;
  }
}

Spot Layers::spot(std::uint32_t event) const {
  const std::uint32_t phase = phase_of_[event];
  if (phase == kAlone) return {};
  const Stretch& stretch = phases_[phase].stretch;
  const std::uint32_t inside = event - stretch.begin;
  return {phase, phases_[phase].layer(inside / stretch.period), inside % stretch.period};
}

std::uint32_t Layers::event(const Spot& spot) const {
  const Phase& phase = phases_[spot.phase];
  return phase.stretch.begin + static_cast<std::uint32_t>(phase.unit(spot.layer)) * phase.stretch.period + spot.place;
}

}  // namespace hearth::scale
