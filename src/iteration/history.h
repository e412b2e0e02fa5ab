// History: the last tokens of the loop, in a ring, and the periods of their tail.
//
// A token is one outermost op (or one allocation, where no op marks come), with the number of live tensors and of
// allocations at that moment. Fed by the period detector on the thread that runs the loop: a store of 12 bytes a
// token, no lock, no allocation; memory is the caller's.
#pragma once

#include <cstdint>

namespace hearth::iteration {

struct Token {
  std::uint32_t name = 0;
  std::uint32_t live = 0;         // tensors alive, modulo 2^32
  std::uint32_t allocations = 0;  // since the start, modulo 2^32
};

// The last `run` tokens repeat with `period`, and the token before them does not.
struct Repetition {
  std::uint32_t period = 0;
  std::uint32_t run = 0;
};

class History {
 public:
  static constexpr std::uint32_t kTokens = 1u << 16;
  static constexpr std::uint32_t kRepeats = 3;  // a period shows itself at least so often
  static constexpr std::uint32_t kLongestPeriod = kTokens / kRepeats;
  static constexpr std::uint32_t kMaxRepetitions = 16;

  constexpr History() = default;
  // `tokens`: kTokens of them.
  void attach(Token* tokens) { tokens_ = tokens; }

  void push(Token token) {
    tokens_[count_ & (kTokens - 1)] = token;
    ++count_;
  }
  void clear() { count_ = 0; }
  std::uint64_t count() const { return count_; }
  std::uint32_t size() const { return count_ < kTokens ? static_cast<std::uint32_t>(count_) : kTokens; }
  const Token& from_end(std::uint32_t back) const { return tokens_[(count_ - 1 - back) & (kTokens - 1)]; }

  // The repetitions that the history ends with, shortest period first, each repeating at least kRepeats times over at
  // least `least_run` tokens. There can be at most log2(kTokens) of them (Fine and Wilf: one with a longer period must
  // outrun the one before it by a whole period). Time O(size()), a few ns a token; scratch: kTokens words.
  std::uint32_t repetitions(std::uint32_t least_run, std::uint32_t* scratch,
                            Repetition (&found)[kMaxRepetitions]) const;

 private:
  Token* tokens_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace hearth::iteration
