// PeriodTracker: follows a loop whose period is known, token by token, and says where its iterations begin.
//
// As long as tokens come as the pattern predicts, a step is one comparison. After a deviation it looks for the place
// where the loop goes on: where it stood (something was inserted: a loss printed), further on in the same iteration
// (something was left out: a smaller batch), or at the beginning of the next (an evaluation step, an iteration given
// up). Tokens that it cannot place are foreign. Too many of them, and the period is broken: at once while it is young,
// since then it may have been a layer or a time step repeated inside a longer iteration; later only when they
// outnumber what the period explained.
//
// Called by the period detector on the thread that runs the loop. Memory is the caller's; no lock, no allocation.
#pragma once

#include <array>
#include <cstdint>

#include "iteration/history.h"

namespace hearth::iteration {

class PeriodTracker {
 public:
  enum class Step : std::uint8_t { inside, boundary, broken };

  constexpr PeriodTracker() = default;
  // Two tables of History::kLongestPeriod words.
  void attach(std::uint32_t* pattern, std::uint32_t* failure) {
    pattern_ = pattern;
    failure_ = failure;
  }

  // Takes the pattern from the start of the repetition that ends the history. `scratch`: History::kTokens words.
  void learn(const History& history, Repetition repetition, std::uint32_t* scratch);
  // The whole repetition counts as followed; its next token is expected next.
  void begin_after(Repetition repetition);
  // Nothing is known of the tokens to come; the first alignment is free.
  void begin_unaligned();
  void stop() { period_ = 0; }

  bool active() const { return period_ != 0; }
  bool aligned() const { return stretch_ == 0; }
  // Has it held for longer than any stack of layers or chain of time steps may last?
  bool trusted() const { return matched_ >= std::uint64_t{kTrustedRepeats} * period_; }
  std::uint32_t period() const { return period_; }
  std::uint64_t foreign() const { return foreign_; }

  // boundary: a new iteration begins with this token.
  Step feed(std::uint32_t token) {
    if (stretch_ != 0 || token != pattern_[cursor_]) return find_place(token);
    ++matched_;
    const bool first = cursor_ == 0;
    if (++cursor_ == period_) cursor_ = 0;
    return first ? Step::boundary : Step::inside;
  }

 private:
  static constexpr std::uint32_t kTrustedRepeats = 256;
  static constexpr std::uint32_t kRecent = 64;

  std::uint32_t unique_prefix(std::uint32_t* scratch) const;
  void make_failure();
  Step find_place(std::uint32_t token);
  bool goes_on(std::uint32_t token, bool* at_start);
  bool restarts(std::uint32_t token);
  std::uint32_t later_place(std::uint32_t length) const;
  Step align(std::uint32_t cursor, std::uint32_t explained, bool boundary);
  bool lost_for_good() const;
  bool just_begun() const;
  std::uint32_t tolerance() const;

  std::uint32_t* pattern_ = nullptr;
  std::uint32_t* failure_ = nullptr;
  std::uint32_t period_ = 0;
  std::uint32_t cursor_ = 0;  // expected next
  std::uint32_t anchor_ = 0;  // length of the pattern's beginning that tells an iteration's start
  std::uint64_t matched_ = 0;
  std::uint64_t foreign_ = 0;  // tokens explained by nothing, in former stretches

  // Since the deviation:
  std::uint32_t stretch_ = 0;     // tokens; 0 = aligned
  std::uint32_t going_on_ = 0;    // of them at the end, equal to the pattern from cursor_
  std::uint32_t restarting_ = 0;  // of them at the end, equal to the pattern's beginning
  std::uint32_t closed_at_ = 0;   // stretch_ when a boundary was told in it; 0 = none
  bool excused_ = false;
  std::array<std::uint32_t, kRecent> recent_{};
};

}  // namespace hearth::iteration
