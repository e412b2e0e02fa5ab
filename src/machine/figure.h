// A measured figure: the median of its repeats, and how far they lie apart. Pure; any thread.
#pragma once

#include <algorithm>
#include <vector>

namespace hearth::machine {

struct Figure {
  double median = 0;
  double least = 0;
  double most = 0;
  unsigned repeats = 0;  // 0 = could not be measured

  bool known() const { return repeats > 0; }
  // How much more the largest is than the smallest: 0.1 = 10 %. Idle machines stay below that.
  double spread() const { return least > 0 ? most / least - 1 : 0; }
};

inline Figure figure_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back(), static_cast<unsigned>(values.size())};
}

// `measure` called so many times.
template <class Measure>
Figure repeated(unsigned times, const Measure& measure) {
  std::vector<double> values;
  for (unsigned i = 0; i < times; ++i) values.push_back(measure());
  return figure_of(std::move(values));
}

}  // namespace hearth::machine
