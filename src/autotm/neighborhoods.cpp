#include "autotm/neighborhoods.h"

#include <algorithm>
#include <utility>

namespace hearth::autotm {
namespace {

constexpr std::ptrdiff_t kFewest = 8;  // whole columns of a row that is worth being a center
constexpr std::uint32_t kTerms = 12;   // of the center, about, whose columns are open
constexpr std::uint32_t kKept = 0xffffffffu;

}  // namespace

std::vector<double> Part::values_of(const std::vector<double>& whole) const {
  std::vector<double> values;
  for (const std::uint32_t column : columns) values.push_back(whole[column]);
  return values;
}

std::vector<double> Part::with(std::vector<double> whole, const std::vector<double>& values) const {
  for (std::size_t i = 0; i < columns.size(); ++i) whole[columns[i]] = values[i];
  return whole;
}

Neighborhoods::Neighborhoods(const Program& program) : program_(program), tied_(program.columns.size()) {
  for (std::uint32_t i = 0; i < tied_.size(); ++i) tied_[i] = i;
  for (std::uint32_t r = 0; r < program.rows.size(); ++r) {
    const Row& row = program.rows[r];
    if (row.low != row.high) {
      const auto whole = [&](const Term& term) { return program.columns[term.column].whole; };
      const auto begin = program.terms.begin() + row.first;
      if (std::count_if(begin, begin + row.count, whole) >= kFewest) centers_.push_back(r);
      continue;
    }
    for (std::uint32_t t = row.first + 1; t < row.first + row.count; ++t) {
      tied_[root(program.terms[t].column)] = root(program.terms[row.first].column);
    }
  }
}

std::uint32_t Neighborhoods::root(std::uint32_t column) {
  while (tied_[column] != column) column = tied_[column] = tied_[tied_[column]];
  return column;
}

Part Neighborhoods::next(const std::vector<double>& values) {
  std::vector<bool> chosen(tied_.size(), false);
  const Row& center = program_.rows[centers_[random_() % centers_.size()]];
  for (std::uint32_t t = center.first; t < center.first + center.count; ++t) {
    if (random_() % center.count < kTerms) chosen[root(program_.terms[t].column)] = true;
  }
  std::vector<bool> open(tied_.size(), false);
  for (std::uint32_t i = 0; i < tied_.size(); ++i) open[i] = !program_.columns[i].whole || chosen[root(i)];
  return part_of(open, values);
}

// What is not whole goes with the rows that hold an open whole column.
Part Neighborhoods::part_of(const std::vector<bool>& open, const std::vector<double>& values) const {
  Part part;
  std::vector<std::uint32_t> now(open.size(), kKept);
  const auto column = [&](std::uint32_t i) {
    if (now[i] == kKept) {
      now[i] = part.program.add(program_.columns[i]);
      part.columns.push_back(i);
    }
    return now[i];
  };
  std::vector<bool> touched(program_.rows.size(), false);
  for (std::size_t r = 0; r < program_.rows.size(); ++r) {
    const Row& row = program_.rows[r];
    for (std::uint32_t t = row.first; t < row.first + row.count; ++t) {
      const std::uint32_t i = program_.terms[t].column;
      if (!open[i] || !program_.columns[i].whole) continue;
      touched[r] = true;
      column(i);
    }
    for (std::uint32_t t = row.first; touched[r] && t < row.first + row.count; ++t) {
      if (!program_.columns[program_.terms[t].column].whole) column(program_.terms[t].column);
    }
  }
  for (std::size_t r = 0; r < program_.rows.size(); ++r) {
    const Row& row = program_.rows[r];
    std::vector<Term> terms;
    double kept = 0;
    for (std::uint32_t t = row.first; t < row.first + row.count; ++t) {
      const Term& term = program_.terms[t];
      if (now[term.column] == kKept) {
        kept += term.factor * values[term.column];
      } else {
        terms.push_back({now[term.column], term.factor});
      }
    }
    if (terms.empty()) continue;
    part.program.add(row.name, row.low > -kInfinity ? row.low - kept : row.low,
                     row.high < kInfinity ? row.high - kept : row.high, std::move(terms));
  }
  part.program.offset = program_.offset;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == kKept) part.program.offset += program_.columns[i].cost * values[i];
  }
  return part;
}

}  // namespace hearth::autotm
