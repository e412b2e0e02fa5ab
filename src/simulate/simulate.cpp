#include "simulate/simulate.h"

#include <algorithm>

namespace hearth::simulate {
namespace {

double time_of(double bytes, double bandwidth) { return bandwidth > 0 ? bytes / bandwidth * 1e9 : 0; }

// Bytes of live objects on the fast tier at every place of the clock.
std::vector<double> fast_bytes(const Workload& workload, std::span<const float> slow) {
  std::vector<double> changes(workload.period + 1, 0.0);
  for (std::size_t i = 0; i < workload.objects.size(); ++i) {
    const double bytes = static_cast<double>(workload.objects[i].bytes) * (1.0 - static_cast<double>(slow[i]));
    for (const Span& span : workload.objects[i].alive) {
      changes[span.from] += bytes;
      changes[span.to] -= bytes;
    }
  }
  for (std::size_t i = 1; i < changes.size(); ++i) changes[i] += changes[i - 1];
  return changes;
}

}  // namespace

double op_ns(const Workload& workload, const tier::Machine& machine, const Op& op, std::span<const float> slow) {
  double traffic = 0;
  bool touches_slow = false;
  for (std::uint32_t i = 0; i < op.uses; ++i) {
    const Use& use = workload.uses[op.first_use + i];
    const auto share = static_cast<double>(slow[use.object]);
    touches_slow |= share > 0;
    traffic += time_of(use.read * share, machine.slow.read) + time_of(use.write * share, machine.slow.write) +
               time_of(use.read * (1 - share), machine.fast.read) +
               time_of(use.write * (1 - share), machine.fast.write);
  }
  return touches_slow ? std::max(op.self_ns, traffic) : op.self_ns;
}

Outcome simulate(const Workload& workload, const tier::Machine& machine, std::span<const float> slow) {
  Outcome outcome;
  outcome.step_ns = workload.rest_ns;
  for (const Op& op : workload.ops) outcome.step_ns += op_ns(workload, machine, op, slow);
  for (const Use& use : workload.uses)
    outcome.slow_bytes += (use.read + use.write) * static_cast<double>(slow[use.object]);
  const std::vector<double> fast = fast_bytes(workload, slow);
  double sum = 0;
  double peak = 0;
  for (std::uint32_t i = 0; i < workload.period; ++i) {
    sum += fast[i];
    peak = std::max(peak, fast[i]);
  }
  outcome.fast_peak = static_cast<std::uint64_t>(peak);
  outcome.fast_average = workload.period != 0 ? sum / workload.period : 0;
  return outcome;
}

}  // namespace hearth::simulate
