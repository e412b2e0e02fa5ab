// milp: a mixed-integer linear program as a plain value, and what a solver makes of it.
//
// The seam to the solver: HiGHS or Cbc, whichever CMake found (backend()), behind one function. Nothing of a solver is
// seen outside milp_*.cpp. Only the `hearth` tool is linked to one; the preloaded library never is.
//
// solve() runs on one thread with a fixed seed: the same program gets the same answer, unless the time limit ends it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::autotm {

constexpr double kInfinity = 1e30;

struct Column {
  double low = 0, high = kInfinity;
  double cost = 0;
  bool whole = false;
  std::string name;
};

struct Term {
  std::uint32_t column = 0;
  double factor = 0;
};

struct Row {
  double low = -kInfinity, high = kInfinity;
  std::uint32_t first = 0, count = 0;  // into Program::terms
  std::string name;
};

// Least `offset` + sum of cost x value.
struct Program {
  double offset = 0;
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Term> terms;  // by row; of each column one at most in a row

  std::uint32_t add(Column column);
  // Terms of one column are added up.
  void add(std::string name, double low, double high, std::vector<Term> row);

  double objective(std::span<const double> values) const;
  // By how much the values break the worst row, bound or wholeness, relative to its size.
  double violation(std::span<const double> values) const;
};

// In the LP format that solvers read.
Result<void> write_lp(const Program& program, const std::string& path);

struct SolveOptions {
  double seconds = 60;
  double gap = 0.01;          // good enough: so much above the bound, relative
  std::vector<double> start;  // a known solution, empty if there is none
};

enum class Status : std::uint8_t { optimal, limit, infeasible, failed };  // optimal: within the gap asked for

struct Solution {
  Status status = Status::failed;
  double objective = 0;
  double bound = 0;  // nothing is below that
  std::vector<double> values;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;  // of the whole process, by then

  bool found() const { return status == Status::optimal || !values.empty(); }
  double gap() const { return objective != bound ? (objective - bound) / std::max(std::abs(objective), 1e-12) : 0; }
};

const char* name_of(Status status);
// "HiGHS 1.7.2", or empty: none was found when this was built.
std::string backend();
Solution solve(const Program& program, const SolveOptions& options);
// What milp_*.cpp does for it; there is a column at least.
Solution solve_by_backend(const Program& program, const SolveOptions& options);

}  // namespace hearth::autotm
