#include "autotm/milp.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace hearth::autotm {
namespace {

void write_terms(std::FILE* file, const Program& program, std::span<const Term> terms) {
  std::size_t written = 0;
  for (const Term& term : terms) {
    std::fprintf(file, " %+.15g %s", term.factor, program.columns[term.column].name.c_str());
    if (++written % 8 == 0) std::fprintf(file, "\n  ");
  }
}

void write_row(std::FILE* file, const Program& program, const Row& row) {
  const std::span<const Term> terms(program.terms.data() + row.first, row.count);
  const auto side = [&](const char* suffix, const char* sign, double value) {
    std::fprintf(file, " %s%s:", row.name.c_str(), suffix);
    write_terms(file, program, terms);
    std::fprintf(file, " %s %.15g\n", sign, value);
  };
  if (row.low == row.high) return side("", "=", row.low);
  if (row.low > -kInfinity) side(row.high < kInfinity ? "_low" : "", ">=", row.low);
  if (row.high < kInfinity) side("", "<=", row.high);
}

}  // namespace

std::uint32_t Program::add(Column column) {
  columns.push_back(std::move(column));
  return static_cast<std::uint32_t>(columns.size() - 1);
}

void Program::add(std::string name, double low, double high, std::vector<Term> row) {
  std::sort(row.begin(), row.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
  const auto first = static_cast<std::uint32_t>(terms.size());
  for (const Term& term : row) {
    if (terms.size() > first && terms.back().column == term.column) {
      terms.back().factor += term.factor;
    } else {
      terms.push_back(term);
    }
  }
  rows.push_back({low, high, first, static_cast<std::uint32_t>(terms.size()) - first, std::move(name)});
}

double Program::objective(std::span<const double> values) const {
  double sum = offset;
  for (std::size_t i = 0; i < columns.size(); ++i) sum += columns[i].cost * values[i];
  return sum;
}

double Program::violation(std::span<const double> values) const {
  double worst = 0;
  const auto outside = [&](double low, double high, double value) {
    const double by = std::max(low - value, value - high);
    const double size = std::max(1.0, std::abs(value));
    worst = std::max(worst, by / size);
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    outside(columns[i].low, columns[i].high, values[i]);
    if (columns[i].whole) worst = std::max(worst, std::abs(values[i] - std::round(values[i])));
  }
  for (const Row& row : rows) {
    double sum = 0;
    for (std::uint32_t i = row.first; i < row.first + row.count; ++i) sum += terms[i].factor * values[terms[i].column];
    outside(row.low, row.high, sum);
  }
  return worst;
}

Result<void> write_lp(const Program& program, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Error{"cannot write " + path};
  std::fprintf(file, "Minimize\n cost:");
  std::vector<Term> costs;
  for (std::uint32_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].cost != 0) costs.push_back({i, program.columns[i].cost});
  }
  write_terms(file, program, costs);
  std::fprintf(file, " %+.15g\nSubject To\n", program.offset);
  for (const Row& row : program.rows) write_row(file, program, row);
  std::fprintf(file, "Bounds\n");
  for (const Column& column : program.columns) {
    if (column.high < kInfinity) {
      std::fprintf(file, " %.15g <= %s <= %.15g\n", column.low, column.name.c_str(), column.high);
    } else if (column.low != 0) {
      std::fprintf(file, " %s >= %.15g\n", column.name.c_str(), column.low);
    }
  }
  std::fprintf(file, "Generals\n");
  for (const Column& column : program.columns) {
    if (column.whole) std::fprintf(file, " %s\n", column.name.c_str());
  }
  std::fprintf(file, "End\n");
  const bool whole = std::ferror(file) == 0;
  return std::fclose(file) == 0 && whole ? Result<void>{} : Result<void>{Error{"cannot write " + path}};
}

Solution solve(const Program& program, const SolveOptions& options) {
  if (!program.columns.empty()) return solve_by_backend(program, options);
  Solution nothing;  // to choose
  nothing.status = Status::optimal;
  nothing.objective = nothing.bound = program.offset;
  return nothing;
}

const char* name_of(Status status) {
  switch (status) {
    case Status::optimal:
      return "optimal";
    case Status::limit:
      return "limit";
    case Status::infeasible:
      return "infeasible";
    case Status::failed:
      return "failed";
  }
  return "?";
}

}  // namespace hearth::autotm
