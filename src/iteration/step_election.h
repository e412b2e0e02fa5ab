// StepElection: which optimizer's steps close the iterations.
//
// The first optimizer seen stepping is elected, and the end of each of its steps closes an iteration; steps of others
// (a GAN's second one) lie inside. When it falls silent while others step for three times its former distance, the one
// that steps then is elected. Steps nested in a step (wrappers) do not count.
//
// Where the adapter cannot tell the object (identity 0), the name is elected. Two objects of one class then show by the
// rhythm of their steps' insides (op and allocation counts): once these alternate regularly, only the steps like the
// first one's close.
//
// Called by the detector on the thread that runs the loop. A few ns a step; no lock, no allocation.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"

namespace hearth::iteration {

// What had happened on the thread when a step began or ended.
struct StepMoment {
  std::uint64_t ops = 0;  // at any depth
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
};

class StepElection {
 public:
  constexpr StepElection() = default;

  void begin(const StepMoment& now);
  bool end(std::uint64_t optimizer, NameId name, const StepMoment& now);  // true: closes an iteration

  bool elected() const { return elected_ != 0; }
  // Two optimizers are told apart by what happens inside their steps, so op marks must go on.
  bool needs_ops() const { return rhythm_ != 0; }
  // What counted as iterations so far were parts of longer ones; true until taken.
  bool take_retraction();

 private:
  static constexpr std::uint32_t kInsides = 64;  // remembered steps
  static constexpr std::uint32_t kLongestRhythm = 8;
  static constexpr std::uint32_t kRhythms = 3;  // repeats before a rhythm is believed, at first
  static constexpr std::uint32_t kMostRhythms = 8;
  static constexpr std::uint64_t kUnknownDistance = 8;

  void elect(std::uint64_t who, NameId name, bool by_name);
  bool in_rhythm(std::uint64_t inside);
  void look_for_rhythm();
  std::uint64_t inside_before(std::uint64_t back) const { return insides_[(seen_ - 1 - back) % kInsides]; }

  std::uint64_t elected_ = 0;  // 0 = nobody yet
  NameId elected_name_{};
  bool by_name_ = false;
  std::uint32_t depth_ = 0;
  StepMoment begin_{};

  std::uint64_t steps_ = 0;  // of all optimizers
  std::uint64_t last_ = 0;   // steps_ at the elected one's last step
  std::uint64_t distance_ = kUnknownDistance;

  std::array<std::uint64_t, kInsides> insides_{};
  std::uint64_t seen_ = 0;    // steps of the elected name
  std::uint32_t rhythm_ = 0;  // steps until the insides repeat; 0 = no alternation known
  std::uint32_t demanded_ = kRhythms;
  std::uint64_t closing_inside_ = 0;
  bool retraction_ = false;
};

}  // namespace hearth::iteration
