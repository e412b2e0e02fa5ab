// Neighborhoods: for a large neighborhood search, the small programs around a solution. All of the solution is kept but
// what meets in one row; what equations tie together is open together.
//
// The same sequence for the same program. Allocates.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "autotm/milp.h"

namespace hearth::autotm {

// A program of the open columns alone, and which these are.
struct Part {
  Program program;
  std::vector<std::uint32_t> columns;  // of the whole one, by column

  std::vector<double> values_of(const std::vector<double>& whole) const;
  // `whole`, with the part's values in it.
  std::vector<double> with(std::vector<double> whole, const std::vector<double>& values) const;
};

class Neighborhoods {
 public:
  explicit Neighborhoods(const Program& program);

  bool any() const { return !centers_.empty(); }
  Part next(const std::vector<double>& values);

 private:
  std::uint32_t root(std::uint32_t column);
  Part part_of(const std::vector<bool>& open, const std::vector<double>& values) const;

  const Program& program_;
  std::vector<std::uint32_t> tied_;     // by column: to another one, or itself
  std::vector<std::uint32_t> centers_;  // rows
  std::mt19937 random_{1};
};

}  // namespace hearth::autotm
