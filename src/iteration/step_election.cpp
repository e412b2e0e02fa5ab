#include "iteration/step_election.h"

#include <algorithm>

#include "iteration/signature.h"

namespace hearth::iteration {

void StepElection::begin(const StepMoment& now) {
  if (depth_++ == 0) begin_ = now;
}

bool StepElection::end(std::uint64_t optimizer, NameId name, const StepMoment& now) {
  if (depth_ > 1) {
    --depth_;
    return false;
  }
  // Depth 0: the watch began in the middle of a step; its end is one all the same.
  if (depth_ == 0) begin_ = now;
  depth_ = 0;
  ++steps_;

  const bool by_name = optimizer == 0;
  const std::uint64_t who = by_name ? rolled(1, name.value) : rolled(2, optimizer);
  const bool same = who == elected_;
  const bool silent = steps_ - last_ > 3 * distance_;
  // The adapter has learnt to tell objects apart: the one by name was this one.
  const bool known_by_name_so_far = by_name_ && !by_name && name == elected_name_;
  if (!same && elected_ != 0 && !silent && !known_by_name_so_far) return false;
  if (same) {
    distance_ = steps_ - last_;
  } else {
    elect(who, name, by_name);
  }
  last_ = steps_;
  if (!by_name) return true;

  std::uint64_t inside = rolled(rolled(3, now.ops - begin_.ops), now.allocations - begin_.allocations);
  inside = rolled(inside, now.bytes - begin_.bytes);
  return in_rhythm(inside);
}

bool StepElection::take_retraction() {
  const bool taken = retraction_;
  retraction_ = false;
  return taken;
}

void StepElection::elect(std::uint64_t who, NameId name, bool by_name) {
  elected_ = who;
  elected_name_ = name;
  by_name_ = by_name;
  distance_ = kUnknownDistance;
  seen_ = 0;
  rhythm_ = 0;
  demanded_ = kRhythms;
}

bool StepElection::in_rhythm(std::uint64_t inside) {
  const bool expected = rhythm_ == 0 || inside == inside_before(rhythm_ - 1);
  insides_[seen_ % kInsides] = inside;
  ++seen_;
  if (!expected) {
    // Not two optimizers, or one was skipped. Every step closes again until a longer proof.
    rhythm_ = 0;
    demanded_ = std::min(2 * demanded_, kMostRhythms);
  } else if (rhythm_ == 0) {
    look_for_rhythm();
  }
  return rhythm_ == 0 || inside == closing_inside_;
}

void StepElection::look_for_rhythm() {
  for (std::uint32_t rhythm = 1; rhythm <= kLongestRhythm; ++rhythm) {
    const std::uint64_t needed = std::uint64_t{rhythm} * demanded_;
    if (needed > seen_) return;
    std::uint64_t back = 0;
    while (back + rhythm < needed && inside_before(back) == inside_before(back + rhythm)) ++back;
    if (back + rhythm < needed) continue;
    if (rhythm == 1) return;  // one optimizer
    rhythm_ = rhythm;
    closing_inside_ = inside_before((seen_ - 1) % rhythm);  // same place in the rhythm as the first step of all
    retraction_ = true;
    return;
  }
}

}  // namespace hearth::iteration
