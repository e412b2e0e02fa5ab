#include "costs/form.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace hearth::costs {
namespace {

// Bit i of `mask` is operand operands[i] of the key.
Mask of_key(const std::vector<std::uint32_t>& operands, Mask mask) {
  Mask made = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if ((mask >> i & 1) != 0) made |= Mask{1} << operands[i];
  }
  return made;
}

// More slow memory makes nothing quicker, and noise only makes things longer: of what there is, no time is more than
// one with more of the operands slow.
void quiet(std::vector<std::optional<double>>& times) {
  for (std::size_t mask = times.size(); mask-- > 0;) {
    for (std::size_t other = mask + 1; times[mask] && other < times.size(); ++other) {
      if ((other & mask) == mask && times[other]) times[mask] = std::min(*times[mask], *times[other]);
    }
  }
}

}  // namespace

double Form::sum_ns() const {
  double sum = fast_ns;
  for (const double more : more_ns) sum += more;
  return sum;
}

Form form_of(const OpKey& key, const CostTable& table, const tier::Machine& machine, double self_ns,
             const Tolerance& tolerance) {
  Form form;
  const auto known = table.ns(key, 0);
  for (std::uint32_t i = 0; i < key.operands.size(); ++i) {
    if (more_of(key.operands[i], machine) >= tolerance.shows * known.value_or(self_ns)) form.operands.push_back(i);
  }
  const std::size_t count = form.operands.size();
  std::vector<std::optional<double>> times(std::size_t{1} << count);
  const auto look = [&](Mask mask) {
    times[mask] = table.ns(key, of_key(form.operands, mask));
    if (!times[mask]) form.missing.push_back(of_key(form.operands, mask));
  };
  std::vector<Mask> first = {0, all_slow(count)};
  for (std::size_t i = 0; i < count; ++i) first.push_back(Mask{1} << i);
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());
  std::for_each(first.begin(), first.end(), look);
  if (!form.missing.empty()) return form;
  quiet(times);
  form.fast_ns = *times[0];
  form.joint_ns = *times[all_slow(count)];
  for (std::size_t i = 0; i < count; ++i) form.more_ns.push_back(*times[Mask{1} << i] - form.fast_ns);
  const double off = std::abs(form.sum_ns() - form.joint_ns);
  if (count < 2 || off <= std::max(tolerance.share * form.joint_ns, tolerance.ns)) {
    form.kind = Kind::additive;
  } else if (count > tolerance.operands) {
    form.kind = Kind::neither;
  } else {
    for (Mask mask = 0; mask <= all_slow(count); ++mask) look(mask);
    if (!form.missing.empty()) return form;
    quiet(times);
    form.kind = Kind::exact;
    for (const std::optional<double>& ns : times) form.table.push_back(*ns);
  }
  return form;
}

}  // namespace hearth::costs
