#include "autotm/items.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace hearth::autotm {
namespace {

using simulate::Object;
using simulate::Use;
using simulate::Workload;
using tier::time_of;

constexpr double kPage = 4096;
constexpr std::uint32_t kNotAnOperand = 0xffffffffu;  // of those that a measured time depends on

struct Use1 {
  Visit visit;
  bool writes = false;
};

class Maker {
 public:
  Maker(const Workload& workload, const tier::Machine& machine, const Slots& slots, const ItemOptions& options)
      : workload_(workload), machine_(machine), slots_(slots), options_(options), uses_(workload.objects.size()) {}

  Items make() {
    add_ops();
    drop_ops();
    for (std::uint32_t i = 0; i < workload_.objects.size(); ++i) {
      const Object& object = workload_.objects[i];
      if (object.resident || object.planned) add_object(i);
    }
    for (auto& [key, indices] : alike_) join(indices);
    return std::move(made_);
  }

 private:
  void add_ops() {
    for (std::uint32_t op = 0; op < workload_.ops.size(); ++op) {
      const bool measured = workload_.ops[op].cost != simulate::kNotMeasured;
      made_.ops.push_back(measured ? add_measured(op) : add_by_roofline(op));
    }
  }

  OpTime add_by_roofline(std::uint32_t op) {
    OpTime time;
    time.self_ns = workload_.ops[op].self_ns;
    for (std::uint32_t i = 0; i < workload_.ops[op].uses; ++i) {
      const Use& use = workload_.uses[workload_.ops[op].first_use + i];
      const double fast = time_of(use.read, machine_.fast.read) + time_of(use.write, machine_.fast.write);
      const double slow = time_of(use.read, machine_.slow.read) + time_of(use.write, machine_.slow.write);
      const Object& object = workload_.objects[use.object];
      const bool placed = object.resident || object.planned;
      time.fast_ns += fast;
      time.slow_ns += placed ? slow : fast;
      if (placed) uses_[use.object].push_back({{op, slow - fast}, use.write > 0});
    }
    return time;
  }

  OpTime add_measured(std::uint32_t op) {
    const simulate::Op& it = workload_.ops[op];
    const simulate::OpCost& cost = workload_.costs[it.cost];
    OpTime time;
    time.self_ns = time.fast_ns = cost.fast_ns;
    time.slow_ns = cost.all_slow_ns();
    if (!cost.table.empty()) time.table = &cost.table;
    for (std::uint32_t i = 0; i < cost.objects.size(); ++i) {
      uses_[cost.objects[i]].push_back({{op, cost.more_ns[i], i}, false});
    }
    // What it writes becomes other than its slow copy, whatever that costs.
    for (std::uint32_t u = it.first_use; u < it.first_use + it.uses; ++u) {
      const Use& use = workload_.uses[u];
      const Object& object = workload_.objects[use.object];
      if (!object.resident && !object.planned) continue;
      std::vector<Use1>& of = uses_[use.object];
      if (of.empty() || of.back().visit.op != op) of.push_back({{op, 0, kNotAnOperand}, false});
      of.back().writes = of.back().writes || use.write > 0;
    }
    return time;
  }

  // Least first, until what may be lost by leaving them as slow as they are is used up.
  void drop_ops() {
    const auto gain = [&](std::uint32_t op) {
      return made_.ops[op].all_slow() - std::max(made_.ops[op].self_ns, made_.ops[op].fast_ns);
    };
    std::vector<std::uint32_t> order(made_.ops.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return gain(a) < gain(b); });
    double left = 0;
    for (const std::uint32_t op : order) left += gain(op);
    left *= options_.neglect;
    for (const std::uint32_t op : order) {
      left -= gain(op);
      made_.ops[op].counts = gain(op) > 0 && left < 0;
    }
  }

  // Of an op that was measured: one of the operands that its time depends on.
  bool matters(const Visit& visit) const {
    const std::uint32_t cost = workload_.ops[visit.op].cost;
    return cost == simulate::kNotMeasured || visit.operand < workload_.costs[cost].objects.size();
  }

  std::uint32_t position(std::uint32_t op, const Object& object) const {
    const bool next = !object.resident && op < object.birth_op;
    return slots_.slot_of(op) + (next ? slots_.count() : 0);
  }

  // An op that runs others inside uses at its end what it may have freed, or not yet allocated, while they ran.
  static std::uint32_t within_life(std::uint32_t op, const Object& object) {
    if (object.resident) return op;
    if (object.death_op >= object.birth_op) return std::clamp(op, object.birth_op, object.death_op);
    return op > object.death_op && op < object.birth_op ? object.death_op : op;
  }

  void add_object(std::uint32_t index) {
    const Object& object = workload_.objects[index];
    std::vector<Use1> uses;
    bool gains = false;
    for (const Use1& use : uses_[index]) {
      const bool counts = made_.ops[use.visit.op].counts && matters(use.visit);
      gains = gains || counts;
      if (counts || (options_.writes && use.writes)) uses.push_back(use);
    }
    if (!gains) return;
    Item item;
    item.objects = {index};
    item.resident = object.resident;
    item.birth = object.birth_op;
    item.death = std::min(object.death_op, static_cast<std::uint32_t>(workload_.ops.size()) - 1);
    item.bytes = static_cast<double>(object.bytes);
    item.life = {0, slots_.count()};
    if (!object.resident) {
      const std::uint32_t end = position(item.death, object) + 1;
      item.life = {std::min(slots_.slot_of(object.birth_op), slots_.count() - 1), end};
      item.life.to = std::max(item.life.to, item.life.from + 1);
    }
    cut(item);
    add_clusters(item, object, uses);
    keep(std::move(item));
  }

  void cut(Item& item) const {
    if (options_.unit_bytes <= 0) return;
    const double wanted = std::min(item.bytes / options_.unit_bytes, static_cast<double>(options_.units));
    item.units = static_cast<std::uint32_t>(std::clamp(wanted + 0.999, 1.0, std::max(1.0, item.bytes / kPage)));
    item.bytes /= item.units;
  }

  void add_clusters(Item& item, const Object& object, std::vector<Use1>& uses) const {
    std::stable_sort(uses.begin(), uses.end(), [&](const Use1& a, const Use1& b) {
      return position(within_life(a.visit.op, object), object) < position(within_life(b.visit.op, object), object);
    });
    if (!item.resident) item.clusters.push_back({{item.life.from, item.life.from + 1}, false, {}});
    for (const Use1& use : uses) {
      const std::uint32_t last = position(within_life(use.visit.op, object), object);
      const std::uint32_t begin =
          position(within_life(workload_.ops[use.visit.op].begins_in(use.visit.op), object), object);
      const std::uint32_t slot = std::min(begin, last);
      if (item.clusters.empty() || apart(item, item.clusters.back().slots.to, slot)) {
        item.clusters.push_back({{slot, slot + 1}, false, {}});
      }
      Cluster& open = item.clusters.back();
      open.slots.to = std::max(open.slots.to, last + 1);
      open.writes = open.writes || use.writes;
      if (!made_.ops[use.visit.op].counts || !matters(use.visit)) continue;
      const double more = use.visit.more_ns / item.units;
      if (!open.visits.empty() && open.visits.back().op == use.visit.op) {
        open.visits.back().more_ns += more;
      } else {
        open.visits.push_back({use.visit.op, more, use.visit.operand});
      }
    }
    if (!item.resident) {
      const std::uint32_t last = item.life.to - 1;
      if (apart(item, item.clusters.back().slots.to, last)) item.clusters.push_back({{last, last + 1}, false, {}});
      item.clusters.back().slots.to = std::max(item.clusters.back().slots.to, item.life.to);
    }
    while (options_.clusters > 0 && item.clusters.size() > options_.clusters) merge_closest(item);
  }

  bool apart(const Item& item, std::uint32_t from, std::uint32_t to) const {
    if (options_.patience <= 0) return to >= from;
    const Durations durations(machine_, item.bytes);
    return to > from && slots_.ns({from, to}) > options_.patience * (durations.to_fast + durations.to_slow);
  }

  void merge_closest(Item& item) const {
    std::size_t closest = 0;
    const auto gap = [&](std::size_t i) {
      return slots_.ns({item.clusters[i].slots.to, item.clusters[i + 1].slots.from});
    };
    for (std::size_t i = 1; i + 1 < item.clusters.size(); ++i) closest = gap(i) < gap(closest) ? i : closest;
    Cluster& into = item.clusters[closest];
    const Cluster& next = item.clusters[closest + 1];
    into.slots.to = std::max(into.slots.to, next.slots.to);
    into.writes = into.writes || next.writes;
    into.visits.insert(into.visits.end(), next.visits.begin(), next.visits.end());
    item.clusters.erase(item.clusters.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
  }

  // Small ones wait for others that are alike.
  void keep(Item item) {
    if (options_.unit_bytes > 0 && item.units == 1) {
      std::vector<std::uint32_t> key = {item.resident ? 1u : 0u, item.life.from, item.life.to};
      for (const Cluster& cluster : item.clusters) {
        key.insert(key.end(), {cluster.slots.from, cluster.slots.to, cluster.writes ? 1u : 0u});
      }
      alike_[key].push_back(static_cast<std::uint32_t>(small_.size()));
      small_.push_back(std::move(item));
    } else {
      made_.items.push_back(std::move(item));
    }
  }

  void join(const std::vector<std::uint32_t>& indices) {
    for (std::size_t i = 0; i < indices.size();) {
      Item item = std::move(small_[indices[i++]]);
      while (i < indices.size() && item.bytes + small_[indices[i]].bytes <= options_.unit_bytes) {
        add_to(item, small_[indices[i++]]);
      }
      if (item.life.to - item.life.from == 1 && !item.resident) item.bytes = most_at_once(item);
      made_.items.push_back(std::move(item));
    }
  }

  static void add_to(Item& item, const Item& other) {
    item.objects.insert(item.objects.end(), other.objects.begin(), other.objects.end());
    item.bytes += other.bytes;
    item.birth = std::min(item.birth, other.birth);
    item.death = std::max(item.death, other.death);
    for (std::size_t c = 0; c < item.clusters.size(); ++c) {
      std::vector<Visit>& visits = item.clusters[c].visits;
      visits.insert(visits.end(), other.clusters[c].visits.begin(), other.clusters[c].visits.end());
    }
  }

  // Of what comes and goes within one slot, one after the other.
  double most_at_once(const Item& item) const {
    std::map<std::uint32_t, double> changes;
    for (const std::uint32_t index : item.objects) {
      for (const simulate::Span& span : workload_.objects[index].alive) {
        changes[span.from] += static_cast<double>(workload_.objects[index].bytes);
        changes[span.to] -= static_cast<double>(workload_.objects[index].bytes);
      }
    }
    double now = 0;
    double most = 0;
    for (const auto& [place, change] : changes) most = std::max(most, now += change);
    return std::min(most, item.bytes);
  }

  const Workload& workload_;
  const tier::Machine& machine_;
  const Slots& slots_;
  const ItemOptions& options_;
  std::vector<std::vector<Use1>> uses_;  // by object
  std::vector<Item> small_;
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> alike_;  // in small_
  Items made_;
};

}  // namespace

Items make_items(const Workload& workload, const tier::Machine& machine, const Slots& slots,
                 const ItemOptions& options) {
  return Maker(workload, machine, slots, options).make();
}

}  // namespace hearth::autotm
