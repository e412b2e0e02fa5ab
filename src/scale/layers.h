// Layers: which unit of one stretch goes with which of another.
//
// The backward pass goes through layers in the reverse order, lists of operands in that of the forward pass: what units
// point to tells. Stretches that are linked form a group with one count of layers, the stacks of a network that has
// several are groups of their own. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scale/align.h"
#include "scale/repeats.h"

namespace hearth::scale {

struct Phase {
  Stretch stretch;
  std::uint32_t group = 0;
  std::int64_t direction = 1;  // of layers, from unit to unit: 1 or -1
  std::int64_t origin = 0;     // layer of the first unit

  std::int64_t layer(std::int64_t unit) const { return origin + direction * unit; }
  std::int64_t unit(std::int64_t layer) const { return (layer - origin) * direction; }
  std::int64_t first() const { return direction > 0 ? origin : layer(stretch.units - 1); }
  std::int64_t last() const { return direction > 0 ? layer(stretch.units - 1) : origin; }
};

// Where an event is: in a layer of a phase, or outside any.
struct Spot {
  std::uint32_t phase = kAlone;
  std::int64_t layer = 0;
  std::uint32_t place = 0;  // within the unit

  bool outside() const { return phase == kAlone; }
  bool operator==(const Spot&) const = default;
};

class Layers {
 public:
  // `links` are links_of() the sequence that the stretches lie in.
  Layers(std::span<const Stretch> stretches, std::span<const std::uint32_t> links);

  const std::vector<Phase>& phases() const { return phases_; }
  std::uint32_t groups() const { return groups_; }
  Spot spot(std::uint32_t event) const;
  std::uint32_t event(const Spot& spot) const;  // of one that is not outside, in a layer that the phase has

 private:
  struct Tie;
  void join(std::span<const Tie> ties);

  std::vector<Phase> phases_;
  std::uint32_t groups_ = 0;
  std::vector<std::uint32_t> phase_of_;  // each event
};

}  // namespace hearth::scale
