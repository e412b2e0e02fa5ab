// OpTree: which op ran inside which, answered in O(1). Ops of one thread are numbered in pre-order, threads one after
// the other, so that an op's descendants are a contiguous range of numbers.
// A value made from Profile::ops; allocates on construction only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

class OpTree {
 public:
  explicit OpTree(std::span<const Op> ops);

  std::uint32_t number(std::uint32_t op) const { return number_[op]; }
  std::uint32_t last(std::uint32_t op) const { return last_[op]; }  // number of its last descendant, or its own
  bool contains(std::uint32_t outer, std::uint32_t op) const {      // op is outer or runs inside it
    return number_[outer] <= number_[op] && number_[op] <= last_[outer];
  }

 private:
  std::vector<std::uint32_t> number_, last_;
};

}  // namespace hearth::profile
