#include "plan/skyline.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace hearth::plan {
namespace {

// A stretch of time with one height; the ring of them is linked both ways.
struct Step {
  std::uint64_t height = 0;
  std::uint32_t start = 0;
  std::uint32_t length = 0;  // 0 = has been merged into a neighbour
  std::uint32_t before = 0, after = 0;
};

class Skyline {
 public:
  Skyline(std::span<const Arc> arcs, std::uint32_t period, std::span<const double> values);
  std::vector<std::uint64_t> run();

 private:
  using Lowest = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // height, start, step

  std::uint32_t ahead(std::uint32_t from, std::uint32_t to) const { return to - from + (to < from ? period_ : 0); }
  std::uint32_t lowest_step();
  std::uint32_t unlaid(std::uint32_t place);
  std::uint32_t best_for(const Step& floor);
  void lay(std::uint32_t step, std::uint32_t item);
  void raise(std::uint32_t step);
  std::uint32_t insert_after(std::uint32_t step, std::uint32_t start, std::uint32_t length, std::uint64_t height);
  void merge_with_next(std::uint32_t step);
  void settle(std::uint32_t step);

  std::span<const Arc> arcs_;
  std::span<const double> values_;
  std::uint32_t period_;
  std::vector<std::uint32_t> by_start_;
  std::vector<std::uint32_t> next_;  // per place in by_start_: at or before the next one that is not laid yet
  std::vector<Step> steps_;
  std::priority_queue<Lowest, std::vector<Lowest>, std::greater<>> heap_;  // with steps that have changed since
  std::vector<std::uint64_t> offsets_;
};

Skyline::Skyline(std::span<const Arc> arcs, std::uint32_t period, std::span<const double> values)
    : arcs_(arcs),
      values_(values),
      period_(period),
      by_start_(arcs.size()),
      next_(arcs.size() + 1),
      offsets_(arcs.size()) {
  std::iota(by_start_.begin(), by_start_.end(), 0u);
  std::stable_sort(by_start_.begin(), by_start_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return arcs_[a].start < arcs_[b].start; });
  std::iota(next_.begin(), next_.end(), 0u);
  steps_.push_back({.height = 0, .start = 0, .length = period_, .before = 0, .after = 0});
  heap_.emplace(0, 0, 0);
}

std::uint32_t Skyline::lowest_step() {
  for (;; heap_.pop()) {
    const auto [height, start, step] = heap_.top();
    const Step& now = steps_[step];
    if (now.length != 0 && now.height == height && now.start == start) return step;
  }
}

// First place at or after `place` that is not laid yet; halves the way for those who ask later.
std::uint32_t Skyline::unlaid(std::uint32_t place) {
  while (next_[place] != place) {
    next_[place] = next_[next_[place]];
    place = next_[place];
  }
  return place;
}

std::uint32_t Skyline::best_for(const Step& floor) {
  const auto count = static_cast<std::uint32_t>(by_start_.size());
  const auto first_at = [&](std::uint32_t start) {
    const auto found = std::partition_point(by_start_.begin(), by_start_.end(),
                                            [&](std::uint32_t item) { return arcs_[item].start < start; });
    return static_cast<std::uint32_t>(found - by_start_.begin());
  };
  std::uint32_t best = count;
  const auto look = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t place = unlaid(from); place < to; place = unlaid(place + 1)) {
      const std::uint32_t item = by_start_[place];
      const bool fits =
          floor.length == period_ || ahead(floor.start, arcs_[item].start) + arcs_[item].length <= floor.length;
      if (fits && (best == count || values_[item] > values_[by_start_[best]])) best = place;
    }
  };
  const std::uint32_t end = floor.start + floor.length;
  look(first_at(floor.start), first_at(std::min(end, period_)));
  if (end > period_) look(0, first_at(end - period_));
  return best;
}

std::uint32_t Skyline::insert_after(std::uint32_t step, std::uint32_t start, std::uint32_t length,
                                    std::uint64_t height) {
  const auto fresh = static_cast<std::uint32_t>(steps_.size());
  const std::uint32_t after = steps_[step].after;
  steps_.push_back({.height = height, .start = start, .length = length, .before = step, .after = after});
  steps_[after].before = fresh;
  steps_[step].after = fresh;
  heap_.emplace(height, start, fresh);
  return fresh;
}

void Skyline::merge_with_next(std::uint32_t step) {
  Step& kept = steps_[step];
  Step& gone = steps_[kept.after];
  kept.length += gone.length;
  kept.after = gone.after;
  steps_[gone.after].before = step;
  gone.length = 0;
}

// Neighbours of one height are one step.
void Skyline::settle(std::uint32_t step) {
  const std::uint32_t before = steps_[step].before;
  if (steps_[step].after != step && steps_[steps_[step].after].height == steps_[step].height) merge_with_next(step);
  if (steps_[step].before != step && steps_[before].height == steps_[step].height) merge_with_next(before);
}

void Skyline::lay(std::uint32_t step, std::uint32_t item) {
  const Arc& arc = arcs_[item];
  if (steps_[step].length == period_) steps_[step].start = arc.start;  // a ring may begin anywhere
  const Step floor = steps_[step];
  const std::uint32_t left = ahead(floor.start, arc.start);
  const std::uint32_t right = floor.length - left - arc.length;
  offsets_[item] = floor.height;
  const std::uint64_t top = floor.height + arc.bytes;
  std::uint32_t laid = step;
  if (left != 0) {
    steps_[step].length = left;
    laid = insert_after(step, arc.start, arc.length, top);
  } else {
    steps_[step].height = top;
    steps_[step].length = arc.length;
    heap_.emplace(top, arc.start, step);
  }
  const std::uint32_t end = arc.start + arc.length;
  if (right != 0) insert_after(laid, end < period_ ? end : end - period_, right, floor.height);
  settle(laid);
}

void Skyline::raise(std::uint32_t step) {
  Step& floor = steps_[step];
  floor.height = std::min(steps_[floor.before].height, steps_[floor.after].height);
  heap_.emplace(floor.height, floor.start, step);
  settle(step);
}

std::vector<std::uint64_t> Skyline::run() {
  for (std::size_t left = arcs_.size(); left != 0;) {
    const std::uint32_t step = lowest_step();
    const std::uint32_t place = best_for(steps_[step]);
    if (place == by_start_.size()) {
      raise(step);
      continue;
    }
    next_[place] = place + 1;
    lay(step, by_start_[place]);
    --left;
  }
  return std::move(offsets_);
}

}  // namespace

std::vector<std::uint64_t> skyline(std::span<const Arc> arcs, std::uint32_t period, std::span<const double> values) {
  return Skyline(arcs, period, values).run();
}

}  // namespace hearth::plan
