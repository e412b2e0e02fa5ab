#include "iteration/period_tracker.h"

#include <algorithm>

namespace hearth::iteration {
namespace {

// One token may recur by chance; so many in a row that fit the pattern do not.
constexpr std::uint32_t kFirm = 4;
// The shortest piece by which a later place in the same iteration is told.
constexpr std::uint32_t kPiece = 8;

}  // namespace

void PeriodTracker::learn(const History& history, Repetition repetition, std::uint32_t* scratch) {
  period_ = repetition.period;
  for (std::uint32_t i = 0; i < period_; ++i) pattern_[i] = history.from_end(repetition.run - 1 - i).name;
  anchor_ = std::max(unique_prefix(scratch), std::min(period_, kFirm));
  make_failure();
  matched_ = foreign_ = 0;
  stretch_ = 0;
}

void PeriodTracker::begin_after(Repetition repetition) {
  cursor_ = repetition.run % period_;
  matched_ = repetition.run;
}

void PeriodTracker::begin_unaligned() {
  cursor_ = 0;
  stretch_ = 1;
  going_on_ = restarting_ = closed_at_ = 0;
  excused_ = true;
}

// Length of the shortest beginning of the pattern that occurs nowhere else in its endless repetition: one more than
// the longest match between the pattern and any rotation of it (Z algorithm over the pattern written twice). At most
// the period, because the smallest period is no repetition itself.
std::uint32_t PeriodTracker::unique_prefix(std::uint32_t* scratch) const {
  const auto at = [&](std::uint32_t i) { return pattern_[i < period_ ? i : i - period_]; };
  std::uint32_t* match = scratch;
  std::uint32_t longest = 0;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  for (std::uint32_t i = 1; i < period_; ++i) {
    std::uint32_t length = i < right ? std::min(right - i, match[i - left]) : 0;
    while (length < period_ && at(i + length) == pattern_[length]) ++length;
    match[i] = length;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
    longest = std::max(longest, length);
  }
  return std::min(longest + 1, period_);
}

void PeriodTracker::make_failure() {
  failure_[0] = 0;
  for (std::uint32_t i = 1; i < anchor_; ++i) {
    std::uint32_t length = failure_[i - 1];
    while (length > 0 && pattern_[i] != pattern_[length]) length = failure_[length - 1];
    failure_[i] = pattern_[i] == pattern_[length] ? length + 1 : 0;
  }
}

// Foreign tokens in a row that do not make a young period suspect: a loss read and printed, a loader started anew.
// The end of one forward pass and the beginning of the next, between two runs of equal layers, are more.
std::uint32_t PeriodTracker::tolerance() const {
  if (period_ < 8) return 0;
  return std::clamp(period_ / 16, 1u, 16u);
}

bool PeriodTracker::lost_for_good() const {
  // A running loop comes to a beginning within one period.
  if (excused_) return stretch_ > std::uint64_t{period_} + anchor_ + tolerance();
  if (!trusted()) return stretch_ > 2 * std::uint64_t{period_} + kRecent;
  return stretch_ + foreign_ > matched_ || stretch_ > 64 * std::uint64_t{period_} + 4096;
}

PeriodTracker::Step PeriodTracker::find_place(std::uint32_t token) {
  if (stretch_ == 0) going_on_ = restarting_ = closed_at_ = 0;
  recent_[stretch_ % kRecent] = token;
  ++stretch_;

  bool boundary = false;
  const bool firm = goes_on(token, &boundary);
  if (boundary) closed_at_ = stretch_;
  if (firm) return align((cursor_ + going_on_) % period_, going_on_, boundary);
  if (restarts(token)) return align(anchor_ % period_, anchor_, boundary || !just_begun());
  if (stretch_ >= kPiece && (stretch_ & (stretch_ - 1)) == 0) {  // whenever it has doubled
    const std::uint32_t length = stretch_ == kPiece ? kPiece : std::min(stretch_ / 2, kRecent);
    const std::uint32_t place = later_place(length);
    if (place != 0) return align(place % period_, length, boundary);
  }
  if (lost_for_good()) return Step::broken;
  return boundary ? Step::boundary : Step::inside;
}

// Few tokens since the last boundary: what ends here is no iteration but a beginning that was given up, such as the
// attempt to fetch a batch after the last one.
bool PeriodTracker::just_begun() const {
  if (closed_at_ != 0) return stretch_ - closed_at_ < anchor_ + kRecent;
  return cursor_ != 0 && cursor_ + stretch_ - anchor_ < period_ / 8;
}

// Does the loop go on where it stood? Something printed between two iterations must not delay the boundary, so the
// iteration's first token is believed at once, and only once.
bool PeriodTracker::goes_on(std::uint32_t token, bool* at_start) {
  std::uint32_t place = (cursor_ + going_on_) % period_;
  if (token != pattern_[place]) {
    going_on_ = 0;
    place = cursor_;
    if (token != pattern_[place]) return false;
  }
  ++going_on_;
  *at_start = place == 0 && !excused_ && !just_begun();
  return going_on_ >= std::min(kFirm, period_);
}

bool PeriodTracker::restarts(std::uint32_t token) {
  while (restarting_ > 0 && token != pattern_[restarting_]) restarting_ = failure_[restarting_ - 1];
  if (token == pattern_[restarting_]) ++restarting_;
  if (restarting_ < anchor_) return false;
  restarting_ = 0;
  return true;
}

// Where the pattern goes on after the last `length` tokens, looking from the deviation to the iteration's end; 0 when
// they are not there, or there more than once. Costs a pass over the period.
std::uint32_t PeriodTracker::later_place(std::uint32_t length) const {
  std::uint32_t place = 0;
  for (std::uint32_t start = cursor_; start + length <= period_; ++start) {
    std::uint32_t equal = 0;
    while (equal < length && pattern_[start + equal] == recent_[(stretch_ - length + equal) % kRecent]) ++equal;
    if (equal < length) continue;
    if (place != 0) return 0;
    place = start + length;
  }
  return place;
}

PeriodTracker::Step PeriodTracker::align(std::uint32_t cursor, std::uint32_t explained, bool boundary) {
  const std::uint32_t unplaced = stretch_ - explained;
  const bool suspect = !excused_ && !trusted() && unplaced > tolerance();
  if (!excused_) foreign_ += unplaced;
  matched_ += explained;
  cursor_ = cursor;
  stretch_ = 0;
  excused_ = false;
  if (suspect) return Step::broken;
  return boundary ? Step::boundary : Step::inside;
}

}  // namespace hearth::iteration
