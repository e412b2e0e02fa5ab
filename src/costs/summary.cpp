#include "costs/summary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulate/simulate.h"

namespace hearth::costs {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the roofline has for the op with all its operands slow, from what was measured with all fast. (Where that is
// traffic, it is as if the op had no time of its own: slow traffic takes longer anyway.)
double roofline_ns(const simulate::Workload& workload, const tier::Machine& machine, const Keyed& op, double own_ns) {
  std::vector<float> shares(workload.objects.size(), 0.0F);
  for (const std::uint32_t object : op.objects) shares[object] = 1;
  simulate::Op it = workload.ops[op.op];
  it.cost = simulate::kNotMeasured;
  it.self_ns = own_ns;
  return simulate::op_ns(workload, machine, it, shares);
}

}  // namespace

Summary summarize(const Study& study, const CostTable& table, const simulate::Workload& workload,
                  const tier::Machine& machine) {
  Summary summary;
  summary.ops = study.ops().size();
  summary.kinds = study.alike().size();
  std::vector<double> errors, roofline_errors;
  for (std::size_t k = 0; k < study.alike().size(); ++k) {
    const Alike& each = study.alike()[k];
    Form form = study.form(each, table);
    if (const auto known = table.ops().find(each.key); known != table.ops().end()) {
      summary.placements += known->second.size();
    }
    if (form.kind == Kind::unmeasured) {
      ++summary.missing;
      continue;
    }
    double roofline_slow = 0;
    for (const std::size_t op : each.ops) {
      roofline_slow += roofline_ns(workload, machine, study.ops()[op], form.fast_ns);
    }
    const auto count = static_cast<double>(each.ops.size());
    summary.fast_ns += form.fast_ns * count;
    summary.slow_ns += form.joint_ns * count;
    summary.roofline_slow_ns += roofline_slow;
    roofline_errors.push_back(std::abs(form.joint_ns * count / std::max(roofline_slow, 1.0) - 1));
    if (!form.checked()) continue;
    summary.exact += form.kind == Kind::exact ? 1 : 0;
    summary.neither += form.kind == Kind::neither ? 1 : 0;
    errors.push_back(std::abs(form.error()));
    summary.checked.push_back({k, std::move(form)});
  }
  std::stable_sort(summary.checked.begin(), summary.checked.end(), [](const Checked& a, const Checked& b) {
    return std::abs(a.form.error()) > std::abs(b.form.error());
  });
  summary.median_error = median(std::move(errors));
  summary.median_roofline_error = median(std::move(roofline_errors));
  return summary;
}

}  // namespace hearth::costs
