#include "iteration/period_detector.h"

#include <algorithm>
#include <cstdlib>

namespace hearth::iteration {

void PeriodDetector::attach(const Memory& memory) {
  history_.attach(memory.tokens);
  tracker_.attach(memory.pattern, memory.failure);
  scratch_ = memory.scratch;
}

void PeriodDetector::reset() {
  history_.clear();
  tracker_.stop();
  next_check_ = kFirstCheck;
  predicted_ = false;
}

bool PeriodDetector::take_retraction() {
  const bool taken = retraction_;
  retraction_ = false;
  return taken;
}

bool PeriodDetector::follow(std::uint32_t name) {
  const bool trusted = tracker_.trusted();
  switch (tracker_.feed(name)) {
    case PeriodTracker::Step::inside:
      return false;
    case PeriodTracker::Step::boundary:
      predicted_ = true;
      return true;
    case PeriodTracker::Step::broken:
      break;
  }
  // A loop that ran for long and then ended had its iterations; a young period that breaks never was one.
  retraction_ = retraction_ || (predicted_ && !trusted);
  predicted_ = false;
  tracker_.stop();
  next_check_ = history_.count() + history_.size();
  return false;
}

void PeriodDetector::check() {
  next_check_ = history_.count() + std::max(history_.size() / 2, kFirstCheck);
  Repetition found[History::kMaxRepetitions];
  const std::uint32_t count = history_.repetitions(kLeastRun, scratch_, found);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (balances(found[i]) && explains(found[i])) return;
  }
  tracker_.stop();
}

bool PeriodDetector::balances(Repetition repetition) const {
  const std::uint32_t whole = repetition.run - repetition.run % repetition.period - repetition.period;
  const Token& now = history_.from_end(0);
  const Token& then = history_.from_end(whole);
  if (now.allocations == 0) return true;  // nobody reports allocations
  const std::int64_t made = static_cast<std::int64_t>(now.allocations - then.allocations);
  const std::int64_t kept = static_cast<std::int32_t>(now.live - then.live);
  return made > 0 && 2 * std::abs(kept) <= made;
}

// Leaves the tracker active and aligned when the repetition explains the last half of the history.
bool PeriodDetector::explains(Repetition repetition) {
  const std::uint32_t half = history_.size() / 2;
  tracker_.learn(history_, repetition, scratch_);
  if (repetition.run >= half) {
    tracker_.begin_after(repetition);
    return true;
  }
  tracker_.begin_unaligned();
  for (std::uint32_t back = half; back-- > 0;) {
    if (tracker_.feed(history_.from_end(back).name) == PeriodTracker::Step::broken) return false;
  }
  return tracker_.aligned() && tracker_.foreign() * 16 <= half;
}

}  // namespace hearth::iteration
