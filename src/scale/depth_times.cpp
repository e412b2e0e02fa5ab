#include "scale/depth_times.h"

#include <algorithm>
#include <optional>

#include "scale/align.h"

namespace hearth::scale {
namespace {

// What passed since the compared event before.
std::vector<double> gaps(const Timed& timed) {
  std::vector<double> found;
  found.reserve(timed.places.size());
  std::uint32_t i = 0;
  for (const std::uint32_t place : timed.places) {
    double ns = 0;
    for (; i <= place; ++i) ns += static_cast<double>(timed.steps[i].ns);
    found.push_back(ns);
  }
  return found;
}

// What is open before each event of the main thread: ops by their numbers, optimizers' steps by one for all.
class Frames {
 public:
  explicit Frames(const Timed& timed) : timed_(timed), in_step_(timed.places.size() + 1, false) {
    bool open = false;
    for (std::size_t i = 0; i < timed.places.size(); ++i) {
      in_step_[i] = open;
      const hearth_event& event = timed.trace.events[timed.places[i]];
      if (event.type == HEARTH_EVENT_STEP_BEGIN) open = true;
      if (event.type == HEARTH_EVENT_STEP_END) open = false;
      const Step& step = timed.steps[timed.places[i]];
      if (event.type != HEARTH_EVENT_OP_BEGIN) continue;
      if (parents_.size() <= step.op) parents_.resize(step.op + 1u, kNoOp);
      parents_[step.op] = step.parent;
    }
  }

  std::size_t count() const { return parents_.size() + 1; }

  // The innermost one, if any.
  std::optional<std::size_t> of(std::size_t event) const {
    const std::uint32_t op = timed_.steps[timed_.places[event]].main_op;
    if (op < parents_.size()) return op;
    return in_step_[event] ? std::optional(parents_.size()) : std::nullopt;
  }

  // All of them.
  std::vector<std::size_t> around(std::size_t event) const {
    std::vector<std::size_t> found;
    if (event >= timed_.places.size()) return found;
    for (std::uint32_t op = timed_.steps[timed_.places[event]].main_op; op < parents_.size(); op = parents_[op]) {
      found.push_back(op);
    }
    if (in_step_[event]) found.push_back(parents_.size());
    return found;
  }

 private:
  const Timed& timed_;
  std::vector<bool> in_step_;
  std::vector<std::uint32_t> parents_;
};

// By how much what passes in each frame outside of layers is longer at the target: 1 where none is within.
std::vector<double> stretched(const Frames& frames, const Layers& layers, std::span<const double> small,
                              std::span<const double> large, std::span<const std::uint32_t> partners,
                              const Sizes& sizes) {
  std::vector<bool> holds(frames.count(), false);
  for (const Phase& phase : layers.phases()) {
    const auto before = frames.around(phase.stretch.begin);
    for (const std::size_t frame : frames.around(phase.stretch.end())) {
      if (std::find(before.begin(), before.end(), frame) != before.end()) holds[frame] = true;
    }
  }
  std::vector<double> small_ns(frames.count(), 0.0);
  std::vector<double> large_ns(frames.count(), 0.0);
  for (std::uint32_t i = 0; i < large.size(); ++i) {
    const auto frame = frames.of(i);
    if (!frame || partners[i] == kAlone || !layers.spot(i).outside()) continue;
    small_ns[*frame] += small[partners[i]];
    large_ns[*frame] += large[i];
  }
  std::vector<double> factors(frames.count(), 1.0);
  for (std::size_t frame = 0; frame < factors.size(); ++frame) {
    if (!holds[frame] || large_ns[frame] <= 0) continue;
    factors[frame] = at_target(sizes, small_ns[frame], large_ns[frame]) / large_ns[frame];
  }
  return factors;
}

double mean_of_units(const Layers& layers, std::span<const double> gaps, std::uint32_t event) {
  const Spot spot = layers.spot(event);
  const Stretch& stretch = layers.phases()[spot.phase].stretch;
  double sum = 0;
  for (std::uint32_t unit = 0; unit < stretch.units; ++unit) {
    sum += gaps[stretch.begin + unit * stretch.period + spot.place];
  }
  return sum / stretch.units;
}

}  // namespace

std::vector<double> depth_times(const Timed& small, const Timed& large, std::span<const std::uint32_t> partners,
                                const Layers& layers, const Deepened& deepened, const Sizes& sizes) {
  const std::vector<double> large_gaps = gaps(large);
  const Frames frames(large);
  const std::vector<double> factors = stretched(frames, layers, gaps(small), large_gaps, partners, sizes);
  std::vector<double> times;
  times.reserve(deepened.events.size());
  for (std::size_t i = 0; i < deepened.events.size(); ++i) {
    const std::uint32_t event = deepened.events[i];
    if (deepened.added[i]) {
      times.push_back(mean_of_units(layers, large_gaps, event));
      continue;
    }
    const auto frame = layers.spot(event).outside() ? frames.of(event) : std::nullopt;
    times.push_back(large_gaps[event] * (frame ? factors[*frame] : 1.0));
  }
  return times;
}

}  // namespace hearth::scale
