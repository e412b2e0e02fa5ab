// Small random iterations, and the best placement found by trying all of them: what integer programs are held to.
// Shares no code with src/autotm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::autotm::test {

struct Instance {
  simulate::Workload workload;
  tier::Machine machine;
  std::vector<double> op_ns;  // by which the share of a copy that an op carries goes
  double capacity = 0;
};

inline Instance random_instance(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  Instance instance;
  instance.machine.fast = {.read = 10e9, .write = 5e9};
  instance.machine.slow = {.read = 2e9, .write = 1e9};
  instance.machine.move_to_fast = 1e9 * pick(1, 8);
  instance.machine.move_to_slow = 1e9 * pick(1, 6);
  const std::uint32_t ops = pick(3, 12);
  const std::uint32_t tensors = pick(2, 8);
  std::vector<std::vector<simulate::Use>> uses(ops);
  double bytes_of_all = 0;
  std::uint32_t residents = 0;
  for (std::uint32_t i = 0; i < tensors; ++i) {
    simulate::Object object;
    object.bytes = 4096ull * pick(1, 40);
    object.resident = pick(0, 3) == 0 && residents < 2;
    residents += object.resident ? 1 : 0;
    object.planned = !object.resident;
    object.birth_op = object.resident ? 0 : pick(0, ops - 1);
    object.death_op = object.resident ? ops - 1 : pick(0, ops - 1);
    if (object.death_op < object.birth_op && pick(0, 2) != 0) std::swap(object.birth_op, object.death_op);
    object.alive[0] = {object.birth_op, object.death_op + 1};
    const std::uint32_t life = (object.death_op + ops - object.birth_op) % ops + 1;
    for (std::uint32_t u = pick(1, 3); u-- > 0;) {
      simulate::Use use{.object = i};
      (pick(0, 1) != 0 ? use.read : use.write) = static_cast<double>(object.bytes);
      uses[(object.birth_op + pick(0, life - 1)) % ops].push_back(use);
    }
    bytes_of_all += static_cast<double>(object.bytes);
    instance.workload.objects.push_back(object);
  }
  for (std::uint32_t op = 0; op < ops; ++op) {
    simulate::Op it;
    it.self_ns = 1000.0 * pick(0, 60);
    it.first_use = static_cast<std::uint32_t>(instance.workload.uses.size());
    it.uses = static_cast<std::uint32_t>(uses[op].size());
    instance.workload.uses.insert(instance.workload.uses.end(), uses[op].begin(), uses[op].end());
    instance.workload.ops.push_back(it);
    instance.op_ns.push_back(1000.0 * pick(5, 80));
  }
  instance.workload.period = ops + 1;
  instance.capacity = bytes_of_all * 0.01 * pick(5, 80);
  return instance;
}

// Some of the ops take what has been measured instead: additive or not, with up to four operands.
inline void measure_some(Instance& instance, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  for (simulate::Op& op : instance.workload.ops) {
    simulate::OpCost cost;
    for (std::uint32_t u = op.first_use; u < op.first_use + op.uses && cost.objects.size() < 4; ++u) {
      const std::uint32_t object = instance.workload.uses[u].object;
      if (std::count(cost.objects.begin(), cost.objects.end(), object) == 0) cost.objects.push_back(object);
    }
    if (cost.objects.empty() || pick(0, 3) == 0) continue;
    cost.fast_ns = 1000.0 * pick(0, 60);
    for (std::size_t i = 0; i < cost.objects.size(); ++i) cost.more_ns.push_back(1000.0 * pick(0, 50));
    if (pick(0, 2) != 0) {
      cost.table = {cost.fast_ns};
      for (std::size_t mask = 1; mask < std::size_t{1} << cost.objects.size(); ++mask) {
        double least = 0;
        for (std::size_t i = 0; i < cost.objects.size(); ++i) {
          if ((mask >> i & 1) != 0) least = std::max(least, cost.table[mask ^ std::size_t{1} << i]);
        }
        cost.table.push_back(least + 1000.0 * (pick(0, 1) != 0 ? pick(0, 60) : 0));
      }
    }
    op.cost = static_cast<std::uint32_t>(instance.workload.costs.size());
    instance.workload.costs.push_back(cost);
  }
}

enum class Moves { none, waiting, beside };

// All ways in which each tensor can lie, tried together.
class BruteForce {
 public:
  BruteForce(const Instance& instance, Moves moves, std::uint32_t most_slots, bool clean)
      : it_(instance),
        ops_(static_cast<std::uint32_t>(instance.workload.ops.size())),
        moves_(moves),
        most_slots_(most_slots),
        clean_(clean) {
    for (const simulate::Op& op : it_.workload.ops) {
      self_.push_back(op.self_ns);
      slow_.push_back(0);
      for (std::uint32_t u = 0; u < op.uses; ++u) slow_.back() += slow_ns(it_.workload.uses[op.first_use + u]);
    }
    for (std::uint32_t i = 0; i < it_.workload.objects.size(); ++i) ways_.push_back(ways_of(i));
    // What saves most is tried first, so that much of the rest need not be.
    const auto saves = [](const Way& way) {
      const double fast = static_cast<double>(way.fast.size() - std::count(way.fast.begin(), way.fast.end(), 0u));
      return std::accumulate(way.saved.begin(), way.saved.end(), 3e4 * fast - way.waiting);
    };
    for (std::vector<Way>& ways : ways_) {
      std::stable_sort(ways.begin(), ways.end(), [&](const Way& a, const Way& b) { return saves(a) > saves(b); });
    }
    for (std::size_t i = 0; i <= ways_.size(); ++i) most_saved_.emplace_back(ops_, 0.0);
    for (std::size_t i = ways_.size(); i-- > 0;) {
      most_saved_[i] = most_saved_[i + 1];
      for (std::uint32_t op = 0; op < ops_; ++op) most_saved_[i][op] += saving(static_cast<std::uint32_t>(i), op);
    }
    for (std::size_t i = 0; i <= ways_.size(); ++i) undecided_.emplace_back(ops_, 0u);
    for (std::size_t i = ways_.size(); i-- > 0;) {
      for (std::uint32_t op = 0; op < ops_; ++op) {
        undecided_[i][op] = undecided_[i + 1][op] | bit(static_cast<std::uint32_t>(i), op);
      }
    }
  }

  double best() {
    Way now(ops_);
    place(0, now);
    return best_;
  }

 private:
  // What one tensor does, or several together.
  struct Way {
    explicit Way(std::uint32_t ops) : saved(ops, 0.0), held(ops, 0.0), lanes{saved, saved}, fast(ops, 0u) {}
    std::vector<double> saved, held, lanes[2];  // by op
    std::vector<std::uint32_t> fast;            // operands of ops that were measured
    double waiting = 0;

    void add(const Way& other, double sign) {
      for (std::size_t op = 0; op < saved.size(); ++op) {
        saved[op] += sign * other.saved[op];
        held[op] += sign * other.held[op];
        for (const int lane : {0, 1}) lanes[lane][op] += sign * other.lanes[lane][op];
        fast[op] ^= other.fast[op];  // nobody else's
      }
      waiting += sign * other.waiting;
    }
    bool no_worse_than(const Way& other) const {
      for (std::size_t op = 0; op < saved.size(); ++op) {
        if (saved[op] < other.saved[op] || held[op] > other.held[op] || lanes[0][op] > other.lanes[0][op] ||
            lanes[1][op] > other.lanes[1][op] || (other.fast[op] & ~fast[op]) != 0) {
          return false;
        }
      }
      return waiting <= other.waiting;
    }
  };

  static double slow_ns(const simulate::Use& use) { return use.read / 2 + use.write / 1; }
  static double fast_ns(const simulate::Use& use) { return use.read / 10 + use.write / 5; }

  const simulate::OpCost* measured(std::uint32_t op) const {
    const std::uint32_t cost = it_.workload.ops[op].cost;
    return cost == simulate::kNotMeasured ? nullptr : &it_.workload.costs[cost];
  }
  // Of an object among the operands of an op that was measured; 0: none.
  std::uint32_t bit(std::uint32_t object, std::uint32_t op) const {
    const simulate::OpCost* cost = measured(op);
    for (std::uint32_t i = 0; cost != nullptr && i < cost->objects.size(); ++i) {
      if (cost->objects[i] == object) return 1u << i;
    }
    return 0;
  }
  static double measured_ns(const simulate::OpCost& cost, std::uint32_t fast) {
    const std::uint32_t all = (1u << cost.objects.size()) - 1;
    if (!cost.table.empty()) return cost.table[all & ~fast];
    double sum = cost.fast_ns;
    for (std::size_t i = 0; i < cost.objects.size(); ++i) sum += (fast >> i & 1) != 0 ? 0 : cost.more_ns[i];
    return sum;
  }

  double saving(std::uint32_t object, std::uint32_t op) const {
    double sum = 0;
    const simulate::Op& it = it_.workload.ops[op];
    if (measured(op) != nullptr) return 0;
    for (std::uint32_t u = 0; u < it.uses; ++u) {
      const simulate::Use& use = it_.workload.uses[it.first_use + u];
      if (use.object == object) sum += slow_ns(use) - fast_ns(use);
    }
    return sum;
  }
  bool writes(std::uint32_t object, std::uint32_t op) const {
    const simulate::Op& it = it_.workload.ops[op];
    for (std::uint32_t u = 0; u < it.uses; ++u) {
      const simulate::Use& use = it_.workload.uses[it.first_use + u];
      if (use.object == object && use.write > 0) return true;
    }
    return false;
  }

  // Ops at which the tensor may not be under way: its birth, its death, and uses for which it matters where it is.
  std::vector<std::uint32_t> stops_of(std::uint32_t i) const {
    const simulate::Object& object = it_.workload.objects[i];
    const std::uint32_t life = object.resident ? ops_ : (object.death_op + ops_ - object.birth_op) % ops_ + 1;
    std::vector<std::uint32_t> stops;
    for (std::uint32_t age = 0; age < life; ++age) {
      const std::uint32_t op = (object.birth_op + age) % ops_;
      const simulate::OpCost* cost = measured(op);
      const bool varies = cost != nullptr && measured_ns(*cost, 0) > measured_ns(*cost, ~0u);
      const bool matters = (varies && bit(i, op) != 0) || (saving(i, op) > 0 && slow_[op] > self_[op]);
      const bool end = !object.resident && (age == 0 || age + 1 == life);
      if (matters || end || (clean_ && writes(i, op))) stops.push_back(object.birth_op + age);
    }
    return stops;
  }

  std::vector<Way> ways_of(std::uint32_t i) {
    object_ = i;
    stops_ = stops_of(i);
    found_ = {Way(ops_)};  // slow for life
    if (stops_.empty()) return found_;
    if (moves_ == Moves::none) {
      Way fast(ops_);
      for (std::uint32_t op = 0; op < ops_; ++op) {
        fast.saved[op] = saving(i, op);
        fast.fast[op] = bit(i, op);
      }
      const simulate::Object& object = it_.workload.objects[i];
      const std::uint32_t life = object.resident ? ops_ : (object.death_op + ops_ - object.birth_op) % ops_ + 1;
      for (std::uint32_t age = 0; age < life; ++age) hold(fast, object.birth_op + age, 1);
      found_.push_back(fast);
      return found_;
    }
    choices_.assign(stops_.size(), {});
    for (std::uint32_t bits = 1; bits < 1u << stops_.size(); ++bits) {
      fast_ = bits;
      choose(0);
    }
    return found_;
  }

  // A gap's: lengths of the two copies, 0 for one that is waited for; none: it stays, or is slow.
  struct Choice {
    bool leaves = false, comes = false;
    std::uint32_t leave = 0, come = 0;
  };

  bool is_fast(std::size_t stop) const { return (fast_ >> (stop % stops_.size()) & 1) != 0; }
  std::uint32_t from(std::size_t gap) const { return stops_[gap] + 1; }
  std::uint32_t to(std::size_t gap) const { return gap + 1 < stops_.size() ? stops_[gap + 1] : stops_[0] + ops_; }

  void choose(std::size_t gap) {
    const bool resident = it_.workload.objects[object_].resident;
    if (gap + (resident ? 0 : 1) == stops_.size()) return keep();
    const std::uint32_t width = to(gap) - from(gap);
    const std::uint32_t longest = moves_ == Moves::beside ? std::min(width, most_slots_) : 0;
    choices_[gap] = {};
    const bool before = is_fast(gap), after = is_fast(gap + 1);
    if (before == after) choose(gap + 1);
    if (before && !after) {
      for (std::uint32_t n = 0; n <= longest; ++n) choices_[gap] = {true, false, n, 0}, choose(gap + 1);
    } else if (!before && after) {
      for (std::uint32_t n = 0; n <= longest; ++n) choices_[gap] = {false, true, 0, n}, choose(gap + 1);
    } else if (before && after) {
      for (std::uint32_t n = 0; n <= longest; ++n) {
        for (std::uint32_t m = 0; m <= longest && n + m <= width; ++m)
          choices_[gap] = {true, true, n, m}, choose(gap + 1);
      }
    }
  }

  void hold(Way& way, std::uint32_t at, double share) const {
    way.held[at % ops_] += share * static_cast<double>(it_.workload.objects[object_].bytes);
  }

  // A copy over [from, to), evenly in time: `before` and `after` each op, what is over of it.
  template <class Each>
  void copy(std::uint32_t from, std::uint32_t to, const Each& each) const {
    double whole = 0, over = 0;
    for (std::uint32_t at = from; at < to; ++at) whole += it_.op_ns[at % ops_];
    for (std::uint32_t at = from; at < to; ++at) {
      const double share = it_.op_ns[at % ops_] / whole;
      each(at, over, over + share);
      over += share;
    }
  }

  void keep() {
    Way way(ops_);
    const auto bytes = static_cast<double>(it_.workload.objects[object_].bytes);
    const double leave_ns = bytes / it_.machine.move_to_slow * 1e9, come_ns = bytes / it_.machine.move_to_fast * 1e9;
    for (std::size_t s = 0; s < stops_.size(); ++s) {
      if (!is_fast(s)) continue;
      hold(way, stops_[s], 1);
      way.saved[stops_[s] % ops_] += saving(object_, stops_[s] % ops_);
      way.fast[stops_[s] % ops_] = bit(object_, stops_[s] % ops_);
    }
    const bool resident = it_.workload.objects[object_].resident;
    const std::size_t gaps = stops_.size() - (resident ? 0 : 1);
    bool valid = false;  // the slow copy; of residents known after one lap
    for (std::size_t g = 0; g < gaps * (resident ? 2 : 1); ++g) {
      const std::size_t gap = g % gaps;
      const bool counts = !resident || g >= gaps;
      const Choice& choice = choices_[gap];
      if (writes(object_, stops_[gap] % ops_) && is_fast(gap)) valid = false;
      const bool free = clean_ && valid;
      if (choice.leaves && counts && !free && choice.leave == 0) way.waiting += leave_ns;
      if (choice.leaves && counts && !free && choice.leave > 0) {
        copy(from(gap), from(gap) + choice.leave, [&](std::uint32_t at, double before, double after) {
          hold(way, at, 1 - before);
          way.lanes[1][at % ops_] += (after - before) * leave_ns;
        });
      }
      if (choice.comes && counts && choice.come == 0) way.waiting += come_ns;
      if (choice.comes && counts && choice.come > 0) {
        copy(to(gap) - choice.come, to(gap), [&](std::uint32_t at, double before, double after) {
          hold(way, at, after);
          way.lanes[0][at % ops_] += (after - before) * come_ns;
        });
      }
      if (choice.comes) valid = true;
      const bool stays = is_fast(gap) && is_fast(gap + 1) && !choice.leaves;
      for (std::uint32_t at = from(gap); stays && counts && at < to(gap); ++at) hold(way, at, 1);
    }
    for (const Way& other : found_) {
      if (other.no_worse_than(way)) return;
    }
    std::erase_if(found_, [&](const Way& other) { return way.no_worse_than(other); });
    found_.push_back(way);
  }

  // At least, if the tensors from `i` on gain all that they can.
  double time_of(const Way& now, std::size_t i) const {
    double sum = now.waiting;
    for (std::uint32_t op = 0; op < ops_; ++op) {
      const simulate::OpCost* cost = measured(op);
      const double own = cost != nullptr ? measured_ns(*cost, now.fast[op] | undecided_[i][op])
                                         : std::max(self_[op], slow_[op] - now.saved[op] - most_saved_[i][op]);
      sum += std::max({own, now.lanes[0][op], now.lanes[1][op]});
    }
    return sum;
  }

  void place(std::size_t i, Way& now) {
    for (const double held : now.held) {
      if (held > it_.capacity + 1e-6) return;
    }
    const double time = time_of(now, i);
    if (best_ >= 0 && time >= best_) return;
    if (i == ways_.size()) {
      best_ = time;
      return;
    }
    for (const Way& way : ways_[i]) {
      now.add(way, 1);
      place(i + 1, now);
      now.add(way, -1);
    }
  }

  const Instance& it_;
  std::uint32_t ops_;
  Moves moves_;
  std::uint32_t most_slots_;
  bool clean_;
  std::vector<double> self_, slow_;                    // by op
  std::vector<std::vector<Way>> ways_;                 // by tensor
  std::vector<std::vector<double>> most_saved_;        // by tensors from this one on, by op
  std::vector<std::vector<std::uint32_t>> undecided_;  // likewise: operands of ops that were measured
  double best_ = -1;
  // Of the tensor whose ways are being looked for.
  std::uint32_t object_ = 0;
  std::vector<std::uint32_t> stops_;
  std::uint32_t fast_ = 0;
  std::vector<Choice> choices_;
  std::vector<Way> found_;
};

}  // namespace hearth::autotm::test
