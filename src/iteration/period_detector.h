// PeriodDetector: finds the period of a loop from its tokens, with no other hint, and predicts its boundaries.
//
// At history lengths that grow by half (at most every History::kTokens tokens) it looks for the smallest period that
// explains the last half of the history and repeats at least three times; small insertions are forgiven, if the
// tracker follows them. Its memory must balance: a period that keeps, or gives back, more than half of the tensors it
// allocates builds a model or walks its layers, and is no iteration. Each predicted boundary is verified by what
// follows; a prediction that breaks early is taken back, and the next one needs twice the history.
//
// The cut: an iteration begins where the repetition began, at the first token after the last one that does not fit.
//
// Called by the detector on the thread that runs the loop. Cost: a 12 byte store and one comparison a token, plus,
// while nothing is found, the look back: amortised below 3 steps of the prefix function a token. No lock, no
// allocation; memory is the caller's.
#pragma once

#include <cstdint>

#include "iteration/history.h"
#include "iteration/period_tracker.h"

namespace hearth::iteration {

class PeriodDetector {
 public:
  struct Memory {
    Token* tokens;           // History::kTokens
    std::uint32_t* scratch;  // History::kTokens
    std::uint32_t* pattern;  // History::kLongestPeriod
    std::uint32_t* failure;  // History::kLongestPeriod
  };

  constexpr PeriodDetector() = default;
  void attach(const Memory& memory);

  // True: an iteration ended before this token.
  bool feed(Token token) {
    if (!scratch_) return false;
    history_.push(token);
    if (tracker_.active()) return follow(token.name);
    if (history_.count() >= next_check_) check();
    return false;
  }

  // Forgets the history and the period.
  void reset();

  std::uint32_t period() const { return tracker_.period(); }  // 0 = none known
  bool predicted() const { return predicted_; }               // by the period now known
  bool take_retraction();

 private:
  static constexpr std::uint32_t kFirstCheck = 256;
  static constexpr std::uint32_t kLeastRun = 192;  // evidence for the shortest periods

  bool follow(std::uint32_t name);
  void check();
  bool balances(Repetition repetition) const;
  bool explains(Repetition repetition);

  History history_{};
  PeriodTracker tracker_{};
  std::uint32_t* scratch_ = nullptr;
  std::uint64_t next_check_ = kFirstCheck;
  bool predicted_ = false;
  bool retraction_ = false;
};

}  // namespace hearth::iteration
