// What the solvers' files share: a program as the arrays that both take, and the clock. Included by milp_*.cpp alone.
#pragma once

#include <sys/resource.h>

#include <chrono>

#include "autotm/milp.h"

namespace hearth::autotm {

// By rows or by columns: `start[i]` is where the i-th begins, index and value are its entries.
struct Matrix {
  std::vector<int> start, index;
  std::vector<double> value;
};

inline Matrix by_rows(const Program& program) {
  Matrix matrix;
  for (const Row& row : program.rows) matrix.start.push_back(static_cast<int>(row.first));
  matrix.start.push_back(static_cast<int>(program.terms.size()));
  for (const Term& term : program.terms) {
    matrix.index.push_back(static_cast<int>(term.column));
    matrix.value.push_back(term.factor);
  }
  return matrix;
}

inline Matrix by_columns(const Program& program) {
  Matrix matrix;
  matrix.start.assign(program.columns.size() + 1, 0);
  for (const Term& term : program.terms) ++matrix.start[term.column + 1];
  for (std::size_t i = 1; i < matrix.start.size(); ++i) matrix.start[i] += matrix.start[i - 1];
  std::vector<int> next(matrix.start);
  matrix.index.resize(program.terms.size());
  matrix.value.resize(program.terms.size());
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    const Row& row = program.rows[r];
    for (std::uint32_t i = row.first; i < row.first + row.count; ++i) {
      const auto at = static_cast<std::size_t>(next[program.terms[i].column]++);
      matrix.index[at] = static_cast<int>(r);
      matrix.value[at] = program.terms[i].factor;
    }
  }
  return matrix;
}

template <class Of, class Get>
std::vector<double> each_of(const std::vector<Of>& all, const Get& get) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Of& one : all) values.push_back(get(one));
  return values;
}

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

inline std::uint64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace hearth::autotm
