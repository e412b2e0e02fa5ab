#include "policy/search.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <utility>

#include "policy/fill.h"
#include "policy/improve.h"
#include "policy/placing.h"

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

// One size of the pool, and its rounds.
class Rounds {
 public:
  Rounds(const Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts, double capacity,
         double pool)
      : placing_(workload, machine, grid, parts, capacity, pool),
        count_(static_cast<std::uint32_t>(parts.parts.size())) {}

  // Everything anew, at the current prices.
  void place_all() {
    placing_.clear();
    for (const double discount : kDiscounts) {
      discount_ = discount;
      queue_.clear();
      for (std::uint32_t p = 0; p < count_; ++p) push(p);
      place_queue();
    }
    discount_ = 1;
  }

  // What all parts would take if there were no limits moves the prices.
  void adjust(double step) {
    const Grid& grid = placing_.grid();
    std::vector<double> held(grid.count(), 0), pooled(grid.count(), 0), lanes[2];
    for (std::vector<double>& lane : lanes) lane.assign(grid.count(), 0);
    for (std::uint32_t p = 0; p < count_; ++p) want(p, held, pooled, lanes);
    const double pool = placing_.pool();
    const std::vector<double> there(grid.count(), std::max(placing_.capacity() - pool, 1.0));
    const std::vector<double> in_pool(grid.count(), std::max(pool, 1.0));
    std::vector<double> time(grid.count());
    for (std::uint32_t s = 0; s < grid.count(); ++s) time[s] = grid.ns(s);
    Prices& prices = placing_.prices();
    prices.held.adjust(held, there, step);
    prices.pooled.adjust(pooled, in_pool, step);
    prices.lanes[0].adjust(lanes[0], time, step);
    prices.lanes[1].adjust(lanes[1], time, step);
  }

  const Placing& placing() const { return placing_; }

 private:
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
    if (!placing_.placement(p).slow()) return;
    if (const double worth_now = worth(placing_.modes_of(p)); worth_now > 0) queue_.push_back({worth_now, p});
  }

  void place_queue() {
    std::priority_queue<std::pair<double, std::uint32_t>> queue({}, std::move(queue_));
    while (!queue.empty()) {
      const auto [key, p] = queue.top();
      queue.pop();
      const Modes modes = placing_.modes_of(p);
      const double now = worth(modes);
      if (now <= 0) continue;
      if (!queue.empty() && now < queue.top().first * 0.999) {
        queue.push({now, p});
        continue;
      }
      for (std::uint32_t i = 0; i < modes.count; ++i) {
        if (modes.modes[i].saving > modes.modes[i].price * discount_ && placing_.try_place(p, modes.modes[i])) break;
      }
    }
    queue_.clear();
  }

  void want(std::uint32_t p, std::vector<double>& held, std::vector<double>& pooled, std::vector<double>* lanes) const {
    const Modes modes = placing_.modes_of(p);
    if (modes.count == 0 || modes.modes[0].net() <= 0) return;
    const Mode& mode = modes.modes[0];
    const Grid& grid = placing_.grid();
    const Parts& parts = placing_.parts();
    const Part& part = parts.parts[p];
    const Durations& durations = placing_.durations(p);
    const auto bytes = static_cast<double>(part.bytes);
    const auto add = [&](std::vector<double>& to, Range range) {
      each_slot(range, grid.count(), [&](std::uint32_t slot) {
        to[slot] += bytes;
        return true;
      });
    };
    if (mode.pooled) return add(pooled, part.life);
    const auto fast = [&](std::uint32_t i) { return (mode.fast >> i & 1) != 0; };
    const auto use = [&](std::vector<double>& lane, Range range) {
      each_slot(range, grid.count(), [&](std::uint32_t slot) {
        lane[slot] += grid.ns(slot);
        return true;
      });
    };
    for (std::uint32_t i = 0; i < part.clusters; ++i) {
      if (fast(i)) add(held, parts.clusters[part.first_cluster + i].slots);
      const bool last = i + 1 == part.clusters;
      if (last && !part.resident) break;
      const Range gap = gap_behind(parts, part, i, grid.count());
      const bool next = fast(last ? 0 : i + 1);
      if (fast(i) && next && (mode.stays >> i & 1) != 0) {
        add(held, gap);
        continue;
      }
      if (fast(i)) {
        const Range way{gap.from, grid.after(gap.from, durations.to_slow, gap.to)};
        add(held, way);
        use(lanes[1], way);
      }
      if (next) {
        const Range way{grid.before(gap.to, durations.to_fast, gap.from), gap.to};
        add(held, way);
        use(lanes[0], way);
      }
    }
  }

  Placing placing_;
  std::uint32_t count_;
  double discount_ = 1;
  std::vector<std::pair<double, std::uint32_t>> queue_;
};

}  // namespace

Chosen search(const Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts,
              const SearchOptions& options) {
  Chosen chosen;
  chosen.placements.resize(parts.parts.size());
  if (grid.count() == 0 || parts.parts.empty()) return chosen;
  std::vector<std::pair<double, std::unique_ptr<Rounds>>> pools;  // by the least that each came to
  std::unique_ptr<Placing> best;
  const auto play = [&](Rounds& rounds, int from, int count) {
    double least = rounds.placing().cost();
    for (int i = from; i < from + count; ++i) {
      rounds.place_all();
      const double cost = rounds.placing().cost();
      least = std::min(least, cost);
      if (best == nullptr || cost < best->cost()) best = std::make_unique<Placing>(rounds.placing());
      rounds.adjust(kStep / (1 + kSettling * i));
    }
    return least;
  };
  for (const double share : kPools) {
    auto rounds = std::make_unique<Rounds>(workload, machine, grid, parts, options.capacity, share * options.capacity);
    const double least = play(*rounds, 0, options.first_rounds);
    pools.emplace_back(least, std::move(rounds));
  }
  std::stable_sort(pools.begin(), pools.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < std::min<std::size_t>(2, pools.size()); ++i) {
    play(*pools[i].second, options.first_rounds, options.rounds);
  }
  best->drop_clean();
  improve(*best, options.tries);
  fill(*best);
  return {best->step_ns(), best->pool(), best->op_times(), best->placements()};
}

}  // namespace hearth::policy
