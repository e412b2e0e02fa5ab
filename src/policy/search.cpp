#include "policy/search.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <utility>

#include "policy/modes.h"
#include "policy/prices.h"

namespace hearth::policy {
namespace {

using simulate::Workload;

// Of the capacity: sizes of the pool that are tried.
constexpr double kPools[] = {0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0};
// Steps of the prices: of the first round, and how soon they get smaller.
constexpr double kStep = 0.5;
constexpr double kSettling = 0.2;
// What takes more than it saves at the prices of the round is still welcome to room that nobody wanted.
constexpr double kDiscounts[] = {1, 0.25, 0.05, 0};

// One size of the pool: prices, and the placement of the current round.
class Round {
 public:
  Round(const Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts, double capacity,
        double pool)
      : workload_(workload),
        grid_(grid),
        parts_(parts),
        capacity_(capacity),
        pool_(pool),
        interference_(machine.interference / 2),
        room_(grid, capacity, pool) {
    for (const Part& part : parts.parts) durations_.emplace_back(machine, static_cast<double>(part.bytes));
    clear();
    const double all_slow = step_ns();
    const double gap = std::max(all_slow - fast_ns(), 1.0);
    const double slots = std::max(1u, grid.count());
    const double each = gap / slots / std::max(capacity, 1.0);
    prices_.held = Price(grid.count(), each);
    prices_.pooled = Price(grid.count(), each);
    for (Price& lane : prices_.lanes) lane = Price(grid.count(), gap / slots / 4);
  }

  // Everything anew, at the current prices.
  double place_all() {
    clear();
    for (const double discount : kDiscounts) {
      discount_ = discount;
      queue_.clear();
      for (std::uint32_t p = 0; p < parts_.parts.size(); ++p) push(p);
      place_queue();
    }
    discount_ = 1;
    return step_ns();
  }

  // What all parts would take if there were no limits moves the prices.
  void adjust(double step) {
    std::vector<double> held(grid_.count(), 0), pooled(grid_.count(), 0), lanes[2];
    for (std::vector<double>& lane : lanes) lane.assign(grid_.count(), 0);
    for (std::uint32_t p = 0; p < parts_.parts.size(); ++p) want(p, held, pooled, lanes);
    const std::vector<double> there(grid_.count(), std::max(capacity_ - pool_, 1.0));
    const std::vector<double> in_pool(grid_.count(), std::max(pool_, 1.0));
    std::vector<double> time(grid_.count());
    for (std::uint32_t s = 0; s < grid_.count(); ++s) time[s] = grid_.ns(s);
    prices_.held.adjust(held, there, step);
    prices_.pooled.adjust(pooled, in_pool, step);
    prices_.lanes[0].adjust(lanes[0], time, step);
    prices_.lanes[1].adjust(lanes[1], time, step);
  }

  double step_ns() const { return total_; }
  double pool() const { return pool_; }
  const std::vector<Placement>& placements() const { return placements_; }
  std::vector<double> op_times() const {
    std::vector<double> times(traffic_.size());
    for (std::size_t op = 0; op < times.size(); ++op) times[op] = op_ns(op);
    return times;
  }

 private:
  double fast_ns() const {
    double sum = 0;
    for (std::size_t op = 0; op < workload_.ops.size(); ++op) {
      sum += std::max(workload_.ops[op].self_ns, parts_.base_ns[op]);
    }
    return sum;
  }

  void clear() {
    room_ = Room(grid_, capacity_, pool_);
    traffic_ = parts_.base_ns;
    for (const Part& part : parts_.parts) {
      for (std::uint32_t i = 0; i < part.clusters; ++i) add_traffic(part, i, 1);
    }
    total_ = 0;
    for (std::size_t op = 0; op < traffic_.size(); ++op) total_ += op_ns(op);
    placements_.assign(parts_.parts.size(), {});
    modes_.assign(parts_.parts.size(), {});
  }

  double op_ns(std::size_t op) const { return std::max(workload_.ops[op].self_ns, traffic_[op]); }

  void add_traffic(const Part& part, std::uint32_t i, double sign) {
    const Cluster& cluster = parts_.clusters[part.first_cluster + i];
    for (std::uint32_t v = 0; v < cluster.visits; ++v) {
      const Visit& visit = parts_.visits[cluster.first_visit + v];
      total_ -= op_ns(visit.op);
      traffic_[visit.op] += sign * visit.more_ns;
      total_ += op_ns(visit.op);
    }
  }

  // ns that being fast in each cluster saves, all other parts lying as they do.
  Savings savings_of(std::uint32_t p) const {
    const Part& part = parts_.parts[p];
    Savings savings{};
    for (std::uint32_t i = 0; i < part.clusters; ++i) {
      const Cluster& cluster = parts_.clusters[part.first_cluster + i];
      const bool fast = (modes_[p].fast >> i & 1) != 0;
      for (std::uint32_t v = 0; v < cluster.visits; ++v) {
        const Visit& visit = parts_.visits[cluster.first_visit + v];
        const double slow = fast ? traffic_[visit.op] + visit.more_ns : traffic_[visit.op];
        const double self = workload_.ops[visit.op].self_ns;
        savings[i] += std::max(self, slow) - std::max(self, slow - visit.more_ns);
      }
    }
    return savings;
  }

  Modes modes_of(std::uint32_t p) const {
    return best_modes(parts_, parts_.parts[p], grid_, durations_[p], savings_of(p), prices_);
  }

  // Saved for each that it takes, or a negative number if it is not worth that.
  double worth(const Modes& modes) const {
    double best = -1;
    for (std::uint32_t i = 0; i < modes.count; ++i) {
      const Mode& mode = modes.modes[i];
      if (mode.saving <= mode.price * discount_) continue;
      best = std::max(best, mode.saving / std::max(mode.price, 1e-9));
    }
    return best;
  }

  void push(std::uint32_t p) {
    if (!placements_[p].slow()) return;
    if (const double worth_now = worth(modes_of(p)); worth_now > 0) queue_.push_back({worth_now, p});
  }

  void place_queue() {
    std::priority_queue<std::pair<double, std::uint32_t>> queue({}, std::move(queue_));
    while (!queue.empty()) {
      const auto [key, p] = queue.top();
      queue.pop();
      const Modes modes = modes_of(p);
      const double now = worth(modes);
      if (now <= 0) continue;
      if (!queue.empty() && now < queue.top().first * 0.999) {
        queue.push({now, p});
        continue;
      }
      for (std::uint32_t i = 0; i < modes.count; ++i) {
        if (modes.modes[i].saving > modes.modes[i].price * discount_ && try_place(p, modes.modes[i])) break;
      }
    }
    queue_.clear();
  }

  bool try_place(std::uint32_t p, const Mode& mode) {
    Placement placement;
    if (!fit(parts_.parts[p], durations_[p], mode, placement)) {
      room_.release(placement, static_cast<double>(parts_.parts[p].bytes));
      return false;
    }
    placements_[p] = std::move(placement);
    modes_[p] = mode;
    for (std::uint32_t i = 0; i < parts_.parts[p].clusters; ++i) {
      if ((mode.fast >> i & 1) != 0) add_traffic(parts_.parts[p], i, -1);
    }
    return true;
  }

  // False: no room. What has been taken by then is in `placement`.
  bool fit(const Part& part, const Durations& durations, const Mode& mode, Placement& placement) {
    const auto bytes = static_cast<double>(part.bytes);
    if (mode.pooled) {
      if (!room_.fits_pool(part.life, bytes)) return false;
      room_.pool(part.life, bytes, placement);
      return true;
    }
    const std::uint32_t count = part.clusters;
    Range spans[kMostClusters];
    for (std::uint32_t i = 0; i < count; ++i) spans[i] = parts_.clusters[part.first_cluster + i].slots;
    const auto fast = [&](std::uint32_t i) { return (mode.fast >> i & 1) != 0; };
    placement.born_fast = fast(0);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      if (last && !part.resident) break;
      const std::uint32_t next = last ? 0 : i + 1;
      Range gap = gap_behind(parts_, part, i, grid_.count());
      if (fast(i) && fast(next) && (mode.stays >> i & 1) != 0) {
        spans[i].to = std::max(spans[i].to, gap.to);
        continue;
      }
      if (fast(i)) {
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
          spans[0] = {come.slots.from, spans[0].to + grid_.count()};
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

  void want(std::uint32_t p, std::vector<double>& held, std::vector<double>& pooled, std::vector<double>* lanes) const {
    const Modes modes = modes_of(p);
    if (modes.count == 0 || modes.modes[0].net() <= 0) return;
    const Mode& mode = modes.modes[0];
    const Part& part = parts_.parts[p];
    const auto bytes = static_cast<double>(part.bytes);
    const auto add = [&](std::vector<double>& to, Range range) {
      each_slot(range, grid_.count(), [&](std::uint32_t slot) {
        to[slot] += bytes;
        return true;
      });
    };
    if (mode.pooled) return add(pooled, part.life);
    const auto fast = [&](std::uint32_t i) { return (mode.fast >> i & 1) != 0; };
    const auto use = [&](std::vector<double>& lane, Range range) {
      each_slot(range, grid_.count(), [&](std::uint32_t slot) {
        lane[slot] += grid_.ns(slot);
        return true;
      });
    };
    for (std::uint32_t i = 0; i < part.clusters; ++i) {
      if (fast(i)) add(held, parts_.clusters[part.first_cluster + i].slots);
      const bool last = i + 1 == part.clusters;
      if (last && !part.resident) break;
      const Range gap = gap_behind(parts_, part, i, grid_.count());
      const bool next = fast(last ? 0 : i + 1);
      if (fast(i) && next && (mode.stays >> i & 1) != 0) {
        add(held, gap);
        continue;
      }
      if (fast(i)) {
        const Range way{gap.from, grid_.after(gap.from, durations_[p].to_slow, gap.to)};
        add(held, way);
        use(lanes[1], way);
      }
      if (next) {
        const Range way{grid_.before(gap.to, durations_[p].to_fast, gap.from), gap.to};
        add(held, way);
        use(lanes[0], way);
      }
    }
  }

  const Workload& workload_;
  const Grid& grid_;
  const Parts& parts_;
  double capacity_, pool_;
  double interference_;
  std::vector<Durations> durations_;
  Prices prices_;
  double discount_ = 1;
  Room room_;
  std::vector<double> traffic_;  // ns, by op
  double total_ = 0;
  std::vector<Placement> placements_;
  std::vector<Mode> modes_;
  std::vector<std::pair<double, std::uint32_t>> queue_;
};

}  // namespace

Chosen search(const Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts,
              const SearchOptions& options) {
  Chosen best;
  best.placements.resize(parts.parts.size());
  if (grid.count() == 0 || parts.parts.empty()) return best;
  std::vector<std::pair<double, std::unique_ptr<Round>>> pools;
  const auto play = [&](Round& round, int from, int rounds) {
    double least = round.step_ns();
    for (int i = from; i < from + rounds; ++i) {
      const double ns = round.place_all();
      least = std::min(least, ns);
      if (best.step_ns == 0 || ns < best.step_ns) best = {ns, round.pool(), round.op_times(), round.placements()};
      round.adjust(kStep / (1 + kSettling * i));
    }
    return least;
  };
  for (const double share : kPools) {
    auto round = std::make_unique<Round>(workload, machine, grid, parts, options.capacity, share * options.capacity);
    const double least = play(*round, 0, options.first_rounds);
    pools.emplace_back(least, std::move(round));
  }
  std::stable_sort(pools.begin(), pools.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < std::min<std::size_t>(2, pools.size()); ++i) {
    play(*pools[i].second, options.first_rounds, options.rounds);
  }
  return best;
}

}  // namespace hearth::policy
