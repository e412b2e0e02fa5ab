#include "policy/placing.h"

#include <algorithm>
#include <utility>

namespace hearth::policy {
namespace {

constexpr std::uint8_t kAllClusters = (1u << kMostClusters) - 1;

// By slot: half of the interference for each lane, where ops are bound by memory in the grid's times.
std::vector<double> tolls(const simulate::Workload& workload, const Grid& grid, double interference) {
  std::vector<double> bound(grid.count(), 0);
  for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
    if (grid.op_ns(op) <= workload.ops[op].self_ns) continue;
    const std::uint32_t from = grid.slot_of(op);
    const std::uint32_t to = std::max(grid.end_of(op), from + 1);
    for (std::uint32_t slot = from; slot < to; ++slot) bound[slot] += grid.op_ns(op) / (to - from);
  }
  for (std::uint32_t slot = 0; slot < grid.count(); ++slot) {
    bound[slot] = std::min(1.0, bound[slot] / std::max(grid.ns(slot), 1e-9)) * interference / 2;
  }
  return bound;
}

}  // namespace

Placing::Placing(const simulate::Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts,
                 double capacity, double pool)
    : workload_(&workload),
      grid_(&grid),
      parts_(&parts),
      capacity_(capacity),
      pool_(pool),
      keeps_copies_(machine.keeps_copies),
      room_(grid, capacity, pool) {
  toll_ = tolls(workload, grid, machine.interference);
  for (const Part& part : parts.parts) durations_.emplace_back(machine, static_cast<double>(part.bytes));
  clear();
  double fast_ns = 0;
  for (std::size_t op = 0; op < workload.ops.size(); ++op) {
    fast_ns += std::max(workload.ops[op].self_ns, parts.base_ns[op]);
  }
  const double gap = std::max(total_ - fast_ns, 1.0);
  const double each = gap / std::max(1u, grid.count());
  prices_.held = Price(grid.count(), each / std::max(capacity, 1.0));
  prices_.pooled = prices_.held;
  for (Price& lane : prices_.lanes) lane = Price(grid.count(), each / 4);
  std::vector<double> tolls(toll_);
  for (std::uint32_t slot = 0; slot < grid.count(); ++slot) tolls[slot] *= grid.ns(slot);
  prices_.toll = Price(std::move(tolls));
}

void Placing::clear() {
  room_ = Room(*grid_, capacity_, pool_);
  traffic_ = parts_->base_ns;
  for (std::uint32_t p = 0; p < parts_->parts.size(); ++p) add_traffic(p, kAllClusters, 1);
  total_ = toll_ns_ = 0;
  for (std::size_t op = 0; op < traffic_.size(); ++op) total_ += op_ns(op);
  placements_.assign(parts_->parts.size(), {});
  modes_.assign(parts_->parts.size(), {});
}

std::vector<double> Placing::op_times() const {
  std::vector<double> times(traffic_.size());
  for (std::size_t op = 0; op < times.size(); ++op) times[op] = op_ns(op);
  return times;
}

double Placing::toll_of(const Placement& placement) const {
  double ns = 0;
  for (const Placement::Taken& taken : placement.taken) ns += taken.ns * toll_[taken.slot];
  return ns;
}

double Placing::op_ns(std::size_t op) const { return std::max(workload_->ops[op].self_ns, traffic_[op]); }

void Placing::add_traffic(std::uint32_t p, std::uint8_t clusters, double sign) {
  const Part& part = parts_->parts[p];
  for (std::uint32_t i = 0; i < part.clusters; ++i) {
    if ((clusters >> i & 1) == 0) continue;
    const Cluster& cluster = parts_->clusters[part.first_cluster + i];
    for (std::uint32_t v = 0; v < cluster.visits; ++v) {
      const Visit& visit = parts_->visits[cluster.first_visit + v];
      total_ -= op_ns(visit.op);
      traffic_[visit.op] += sign * visit.more_ns;
      total_ += op_ns(visit.op);
    }
  }
}

// ns that being fast in each cluster saves, all other parts lying as they do.
Savings Placing::savings_of(std::uint32_t p) const {
  const Part& part = parts_->parts[p];
  Savings savings{};
  for (std::uint32_t i = 0; i < part.clusters; ++i) {
    const Cluster& cluster = parts_->clusters[part.first_cluster + i];
    const bool fast = (modes_[p].fast >> i & 1) != 0;
    for (std::uint32_t v = 0; v < cluster.visits; ++v) {
      const Visit& visit = parts_->visits[cluster.first_visit + v];
      const double slow = fast ? traffic_[visit.op] + visit.more_ns : traffic_[visit.op];
      const double self = workload_->ops[visit.op].self_ns;
      savings[i] += std::max(self, slow) - std::max(self, slow - visit.more_ns);
    }
  }
  return savings;
}

Modes Placing::modes_of(std::uint32_t p) const {
  return best_modes(*parts_, parts_->parts[p], *grid_, durations_[p], savings_of(p), prices_);
}

bool Placing::try_place(std::uint32_t p, const Mode& mode) {
  Placement placement;
  if (!fit(parts_->parts[p], durations_[p], mode, placement)) {
    room_.release(placement, static_cast<double>(parts_->parts[p].bytes));
    return false;
  }
  placements_[p] = std::move(placement);
  modes_[p] = mode;
  toll_ns_ += toll_of(placements_[p]);
  add_traffic(p, mode.fast, -1);
  return true;
}

Placing::Kept Placing::take_out(std::uint32_t p) {
  Kept kept{placements_[p], modes_[p]};
  if (kept.placement.slow()) return kept;
  add_traffic(p, kept.mode.fast, 1);
  toll_ns_ -= toll_of(kept.placement);
  room_.release(placements_[p], static_cast<double>(parts_->parts[p].bytes));
  modes_[p] = {};
  return kept;
}

void Placing::put_back(std::uint32_t p, Kept kept) {
  placements_[p] = std::move(kept.placement);
  modes_[p] = kept.mode;
  if (placements_[p].slow()) return;
  room_.retake(placements_[p], static_cast<double>(parts_->parts[p].bytes));
  toll_ns_ += toll_of(placements_[p]);
  add_traffic(p, modes_[p].fast, -1);
}

void Placing::drop_clean() {
  if (!keeps_copies_) return;
  for (Durations& durations : durations_) durations.free_if_clean = true;
  for (std::uint32_t p = 0; p < parts_->parts.size(); ++p) {
    if (placements_[p].transfers.empty()) continue;
    const Kept kept = take_out(p);
    if (!try_place(p, kept.mode)) put_back(p, kept);
  }
}

// False: no room. What has been taken by then is in `placement`.
bool Placing::fit(const Part& part, const Durations& durations, const Mode& mode, Placement& placement) {
  const auto bytes = static_cast<double>(part.bytes);
  if (mode.pooled) {
    if (!room_.fits_pool(part.life, bytes)) return false;
    room_.pool(part.life, bytes, placement);
    return true;
  }
  const std::uint32_t count = part.clusters;
  Range spans[kMostClusters];
  for (std::uint32_t i = 0; i < count; ++i) spans[i] = parts_->clusters[part.first_cluster + i].slots;
  const auto fast = [&](std::uint32_t i) { return (mode.fast >> i & 1) != 0; };
  const std::uint8_t clean = durations.free_if_clean ? clean_leaves(*parts_, part, mode.fast, mode.stays) : 0;
  placement.born_fast = fast(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    if (last && !part.resident) break;
    const std::uint32_t next = last ? 0 : i + 1;
    Range gap = gap_behind(*parts_, part, i, grid_->count());
    if (fast(i) && fast(next) && (mode.stays >> i & 1) != 0) {
      spans[i].to = std::max(spans[i].to, gap.to);
      continue;
    }
    if (fast(i) && (clean >> i & 1) != 0) {
      placement.transfers.push_back({kToSlow, {gap.from, gap.from}, true});
    } else if (fast(i)) {
      Transfer leave{kToSlow, {}};
      if (!room_.early(kToSlow, gap, durations.to_slow, placement, &leave.slots)) return false;
      placement.transfers.push_back(leave);
      spans[i].to = leave.slots.to;
      gap.from = leave.slots.to;
    }
    if (fast(next)) {
      Transfer come{kToFast, {}};
      if (!room_.late(kToFast, gap, durations.to_fast, placement, &come.slots)) return false;
      placement.transfers.push_back(come);
      if (last) {
        spans[0] = {come.slots.from, spans[0].to + grid_->count()};
      } else {
        spans[next].from = come.slots.from;
      }
    }
  }
  if (!part.resident && fast(count - 1)) spans[count - 1].to = std::max(spans[count - 1].to, part.life.to);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (fast(i) && !room_.fits(spans[i], bytes)) return false;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (fast(i)) room_.hold(spans[i], bytes, placement);
  }
  return true;
}

}  // namespace hearth::policy
