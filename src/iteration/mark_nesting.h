// MarkNesting: which of the program's own marks close an iteration.
//
// The outermost pair counts; pairs inside it and ends without a begin are counted and ignored. A begin that was never
// ended (the program left the loop body early) would swallow all later pairs, so after some pairs inside an open one
// the open one is given up and the pairs inside count.
//
// Called by the detector on the thread that runs the loop. No lock, no allocation.
#pragma once

#include <cstdint>

namespace hearth::iteration {

class MarkNesting {
 public:
  constexpr MarkNesting() = default;

  void begin() {
    if (depth_++ > ignored_) ++odd_;
  }

  // True: closes an iteration.
  bool end() {
    if (depth_ == 0) {
      ++odd_;
      return false;
    }
    --depth_;
    if (depth_ <= ignored_) {
      ignored_ = depth_;
      pairs_inside_ = 0;
      return true;
    }
    if (++pairs_inside_ < kPairsInside) return false;
    ignored_ = depth_;
    return true;
  }

  std::uint64_t odd() const { return odd_; }  // nested begins and ends without one

 private:
  static constexpr std::uint32_t kPairsInside = 16;

  std::uint32_t depth_ = 0;
  std::uint32_t ignored_ = 0;  // open begins that were given up
  std::uint32_t pairs_inside_ = 0;
  std::uint64_t odd_ = 0;
};

}  // namespace hearth::iteration
