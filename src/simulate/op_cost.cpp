#include "simulate/op_cost.h"

namespace hearth::simulate {

double OpCost::all_slow_ns() const {
  if (!table.empty()) return table.back();
  double sum = fast_ns;
  for (const double more : more_ns) sum += more;
  return sum;
}

double OpCost::ns(std::span<const float> slow) const {
  double sum = table.empty() ? fast_ns : 0;
  for (std::size_t i = 0; i < objects.size() && table.empty(); ++i) {
    sum += more_ns[i] * static_cast<double>(slow[objects[i]]);
  }
  for (std::size_t mask = 0; mask < table.size(); ++mask) {
    double weight = 1;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const auto share = static_cast<double>(slow[objects[i]]);
      weight *= (mask >> i & 1) != 0 ? share : 1 - share;
    }
    sum += weight * table[mask];
  }
  return sum;
}

}  // namespace hearth::simulate
