#include "policy/baselines.h"

#include <algorithm>

#include "policy/grid.h"
#include "policy/parts.h"
#include "simulate/simulate.h"

namespace hearth::policy {
namespace {

using simulate::Move;
using simulate::Object;
using simulate::Schedule;
using simulate::Workload;
using tier::Tier;

constexpr double kPage = 4096;
// Of the copy's time, between the begin of a fetch and the use.
constexpr double kLead = 2;

void add_queue(const Workload& workload, const tier::Machine& machine, Schedule& schedule) {
  const std::vector<float> all_fast(workload.objects.size(), 0.0F);
  std::vector<double> begin_ns{0};  // of each op, and of the end
  std::vector<std::vector<std::uint32_t>> uses(workload.objects.size());
  for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
    const simulate::Op& it = workload.ops[op];
    begin_ns.push_back(begin_ns.back() + it.lapse_ns(simulate::op_ns(workload, machine, it, all_fast)));
    for (std::uint32_t i = 0; i < it.uses; ++i) uses[workload.uses[it.first_use + i].object].push_back(op);
  }
  for (std::uint32_t i = 0; i < workload.objects.size(); ++i) {
    const Object& object = workload.objects[i];
    if (!object.planned || object.death_op < object.birth_op) continue;
    std::uint32_t last = 0;
    std::uint32_t next = 0;
    double widest = 0;
    for (std::size_t u = 1; u < uses[i].size(); ++u) {
      const double gap = begin_ns[uses[i][u]] - begin_ns[uses[i][u - 1] + 1];
      if (gap <= widest) continue;
      widest = gap;
      last = uses[i][u - 1];
      next = uses[i][u];
    }
    const auto bytes = static_cast<double>(object.bytes);
    const double leave = bytes / machine.move_to_slow * 1e9;
    const double come = bytes / machine.move_to_fast * 1e9;
    if (widest < leave + kLead * come) continue;
    const auto at_ns = std::upper_bound(begin_ns.begin(), begin_ns.end(), begin_ns[next] - kLead * come);
    const auto fetch_at = std::clamp(static_cast<std::uint32_t>(at_ns - begin_ns.begin()) - 1, last + 1, next);
    schedule.moves.push_back({.piece = i, .to = Tier::slow, .at = last + 1, .due = fetch_at, .ns = widest});
    schedule.moves.push_back({.piece = i, .to = Tier::fast, .at = fetch_at, .due = next, .ns = kLead * come});
  }
  std::stable_sort(schedule.moves.begin(), schedule.moves.end(),
                   [](const Move& a, const Move& b) { return a.at < b.at; });
}

}  // namespace

Schedule schedule_all(const Workload& workload, Tier tier) {
  Schedule schedule;
  for (std::uint32_t i = 0; i < workload.objects.size(); ++i) {
    schedule.pieces.push_back({.object = i, .bytes = workload.objects[i].bytes, .begin = tier});
  }
  return schedule;
}

Schedule schedule_first_touch(const Workload& workload, double capacity) {
  Schedule schedule = schedule_all(workload, Tier::fast);
  schedule.capacity = std::max(capacity, 1.0);  // 0 would be no limit
  return schedule;
}

Schedule schedule_interleave(const Workload& workload, double capacity) {
  const std::vector<float> all_fast(workload.objects.size(), 0.0F);
  const auto peak = static_cast<double>(simulate::simulate(workload, {}, all_fast).fast_peak);
  const double share = peak > 0 ? std::min(1.0, capacity / peak) : 1;
  Schedule schedule;
  for (std::uint32_t i = 0; i < workload.objects.size(); ++i) {
    const auto bytes = static_cast<double>(workload.objects[i].bytes);
    const auto fast = static_cast<std::uint64_t>(bytes * share / kPage) * static_cast<std::uint64_t>(kPage);
    const std::uint64_t slow = workload.objects[i].bytes - fast;
    const double part = static_cast<double>(fast) / bytes;
    if (fast != 0) schedule.pieces.push_back({.object = i, .share = part, .bytes = fast, .begin = Tier::fast});
    if (slow != 0) schedule.pieces.push_back({.object = i, .share = 1 - part, .bytes = slow, .begin = Tier::slow});
  }
  return schedule;
}

Schedule schedule_tier_queue(const Workload& workload, const tier::Machine& machine, double capacity) {
  Schedule resident_fast = schedule_first_touch(workload, capacity);
  Schedule resident_slow = resident_fast;
  for (simulate::Piece& piece : resident_slow.pieces) {
    if (workload.objects[piece.object].resident) piece.begin = Tier::slow;
  }
  for (Schedule* schedule : {&resident_fast, &resident_slow}) add_queue(workload, machine, *schedule);
  const double fast_ns = simulate::simulate(workload, machine, resident_fast).step_ns;
  const double slow_ns = simulate::simulate(workload, machine, resident_slow).step_ns;
  return slow_ns < fast_ns ? resident_slow : resident_fast;
}

}  // namespace hearth::policy
