#include "policy/sentinel.h"

#include <algorithm>
#include <utility>

#include "policy/schedule_of.h"
#include "simulate/simulate.h"

namespace hearth::policy {
namespace {

// Objects that are more than so much of the capacity are placed in slices; of each pass, since now these serve better,
// now those.
constexpr double kSlicesOfCapacity[] = {24, 12, 17, 24, 12, 17};
constexpr double kSmallestSlice = 256 << 10;

}  // namespace

simulate::Schedule schedule_sentinel(const simulate::Workload& workload, const tier::Machine& machine,
                                     double capacity) {
  const std::vector<float> all_fast(workload.objects.size(), 0.0F);
  std::vector<double> op_ns;
  for (const simulate::Op& op : workload.ops) op_ns.push_back(simulate::op_ns(workload, machine, op, all_fast));
  simulate::Schedule best;
  double best_ns = 0;
  for (const double slices : kSlicesOfCapacity) {
    const double slice = std::max(capacity / slices, kSmallestSlice);
    const Grid grid(op_ns, simulate::lapses(workload, op_ns));
    const Parts parts = make_parts(workload, machine, grid, static_cast<std::uint64_t>(slice));
    const Chosen chosen = search(workload, machine, grid, parts, {.capacity = capacity});
    simulate::Schedule schedule = schedule_of(workload, grid, parts, chosen, capacity);
    const double ns = simulate::simulate(workload, machine, schedule).step_ns;
    if (best_ns == 0 || ns < best_ns) {
      best_ns = ns;
      best = std::move(schedule);
    }
    for (std::size_t i = 0; i < op_ns.size() && !chosen.op_ns.empty(); ++i) op_ns[i] = (op_ns[i] + chosen.op_ns[i]) / 2;
  }
  return best;
}

}  // namespace hearth::policy
