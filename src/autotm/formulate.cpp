#include "autotm/formulate.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hearth::autotm {
namespace {

using simulate::Workload;

constexpr double kWhole = 1000;             // of time and of room
constexpr std::uint32_t kPointsOfSlot = 4;  // at which room in a slot is looked at

class Maker {
 public:
  Maker(const Workload& workload, const tier::Machine& machine, const Slots& slots, const Items& items,
        const FormulaOptions& options)
      : workload_(workload),
        machine_(machine),
        slots_(slots),
        items_(items),
        options_(options),
        savings_(items.ops.size()),
        operands_(items.ops.size()),
        room_(slots.count()),
        load_{std::vector<Terms>(slots.count()), std::vector<Terms>(slots.count())} {
    double slow = 0;
    for (const OpTime& op : items.ops) slow += op.all_slow();
    made_.ns = std::max(slow, 1.0) / kWhole;
    made_.program.offset = workload.outside_ns() / made_.ns;
  }

  Formula make() {
    for (std::uint32_t i = 0; i < items_.items.size(); ++i) add_item(i);
    add_op_times();
    add_room();
    add_lanes();
    return std::move(made_);
  }

 private:
  using Terms = std::vector<Term>;
  struct Held {
    Term term;
    std::uint32_t item;
  };

  std::uint32_t column(const std::string& name, double high, double cost = 0) {
    return made_.program.add({0, high, cost, true, name});
  }

  // Held fast in these slots, all the time.
  void hold(std::uint32_t item, std::uint32_t column, Range range) {
    for (std::uint32_t at = range.from; at < range.to; ++at) hold(item, column, at, 1);
  }
  void hold(std::uint32_t item, std::uint32_t column, std::uint32_t at, double share) {
    const double bytes = items_.items[item].bytes * share / std::max(options_.capacity, 1.0) * kWhole;
    if (bytes > 0) room_[at % slots_.count()].push_back({{column, bytes}, item});
  }

  void add_item(std::uint32_t i) {
    const Item& item = items_.items[i];
    const std::string name = "_" + std::to_string(i);
    Placed placed;
    for (std::uint32_t c = 0; c < item.clusters.size(); ++c) {
      const bool first = placed.fast.empty();
      if (first || options_.mode != Mode::fixed) {
        placed.fast.push_back(column("fast" + name + "_" + std::to_string(c), item.units));
        if (options_.clean) placed.clean.push_back(column("clean" + name + "_" + std::to_string(c), item.units));
      }
      const std::uint32_t fast = placed.fast.back();
      for (const Visit& visit : item.clusters[c].visits) add_visit(visit, fast, item.units);
      if (options_.mode != Mode::fixed) hold(i, fast, item.clusters[c].slots);
    }
    if (options_.mode == Mode::fixed) {
      // A life around the iteration's end may begin and end in one slot.
      hold(i, placed.fast.back(), {item.life.from, std::min(item.life.to, item.life.from + slots_.count())});
    } else {
      const std::size_t gaps = item.resident ? item.clusters.size() : item.clusters.size() - 1;
      for (std::uint32_t c = 0; c < gaps; ++c) add_gap(i, c, placed);
      // As it is born nothing else has a copy of it.
      if (options_.clean && !item.resident) made_.program.columns[placed.clean[0]].high = 0;
    }
    made_.placed.push_back(std::move(placed));
  }

  void add_visit(const Visit& visit, std::uint32_t fast, std::uint32_t units) {
    if (items_.ops[visit.op].table == nullptr) {
      savings_[visit.op].push_back({fast, visit.more_ns / made_.ns});
      return;
    }
    Terms& operands = operands_[visit.op];
    if (operands.size() <= visit.operand) operands.resize(visit.operand + 1, {Formula::kNone, 0});
    operands[visit.operand] = {fast, 1.0 / units};
  }

  // The tensor flow graph between two uses: what was fast stays or leaves, and what is to be fast stayed or comes.
  void add_gap(std::uint32_t i, std::uint32_t c, Placed& placed) {
    const Item& item = items_.items[i];
    const std::uint32_t next = c + 1 < item.clusters.size() ? c + 1 : 0;
    Gap gap;
    gap.slots = {item.clusters[c].slots.to, item.clusters[next].slots.from + (next == 0 ? slots_.count() : 0)};
    const std::string name = "_" + std::to_string(i) + "_" + std::to_string(c);
    gap.stay = column("stay" + name, item.units);
    hold(i, gap.stay, gap.slots);
    const Durations durations(machine_, item.bytes);
    add_ways("leave" + name, i, gap, durations.to_slow, gap.leave);
    add_ways("come" + name, i, gap, durations.to_fast, gap.come);
    Terms out = {{placed.fast[c], -1}, {gap.stay, 1}};
    Terms in = {{placed.fast[next], -1}, {gap.stay, 1}};
    for (const Way& way : gap.leave) out.push_back({way.column, 1});
    for (const Way& way : gap.come) in.push_back({way.column, 1});
    if (options_.clean) {
      gap.stay_clean = column("kept" + name, item.units);
      gap.drop = column("drop" + name, item.units);
      out.push_back({gap.drop, 1});
      made_.program.add("dropped" + name, -kInfinity, 0, {{placed.clean[c], -1}, {gap.stay_clean, 1}, {gap.drop, 1}});
      made_.program.add("kept_of" + name, 0, kInfinity, {{gap.stay, 1}, {gap.stay_clean, -1}});
      add_clean_arrivals(name, gap, placed.clean[next], item.clusters[next].writes);
    }
    made_.program.add("out" + name, 0, 0, std::move(out));
    made_.program.add("in" + name, 0, 0, std::move(in));
    add_order(name, item.units, placed.fast[c], gap);
    placed.gaps.push_back(std::move(gap));
  }

  // Clean in the next cluster is at most what came or was clean, and nothing if it is written there.
  void add_clean_arrivals(const std::string& name, const Gap& gap, std::uint32_t clean, bool written) {
    if (written) {
      made_.program.columns[clean].high = 0;
      return;
    }
    Terms terms = {{clean, 1}, {gap.stay_clean, -1}};
    for (const Way& way : gap.come) terms.push_back({way.column, -1});
    made_.program.add("arrive" + name, -kInfinity, 0, std::move(terms));
  }

  void add_ways(const std::string& name, std::uint32_t i, const Gap& gap, double ns, std::vector<Way>& ways) {
    const Item& item = items_.items[i];
    ways.push_back({column(name + "_now", item.units, ns / made_.ns), {}});
    if (options_.mode != Mode::asynchronous) return;
    const bool leaves = &ways == &gap.leave;
    for (const Range slots : windows(gap.slots, ns, leaves)) {
      const Way way{column(name + "_" + std::to_string(slots.to - slots.from), item.units), slots};
      for (std::uint32_t at = slots.from; at < slots.to; ++at) {
        const double before = share_done(slots_, slots, at);
        const double after = share_done(slots_, slots, at + 1);
        hold(i, way.column, at, leaves ? 1 - before : after);
        const std::uint32_t slot = at % slots_.count();
        const double load = ns * (after - before) / made_.ns;
        load_[leaves ? 1 : 0][slot].push_back({way.column, load});
        if (!options_.interference.empty()) {
          made_.program.columns[way.column].cost += load * options_.interference[slot];
        }
      }
      ways.push_back(way);
    }
  }

  std::vector<Range> windows(Range gap, double ns, bool leaves) const {
    std::vector<Range> found;
    const auto most = gap.empty() ? 0 : gap.to - gap.from;
    std::vector<std::uint32_t> lengths;
    const std::uint32_t any = options_.most_slots;
    for (std::uint32_t length = 1; length <= std::min(any, most); ++length) lengths.push_back(length);
    for (std::size_t f = 0; any == 0 && f < options_.lengths.size() && most > 0; ++f) {
      std::uint32_t length = 1;
      const auto window = [&] { return leaves ? Range{gap.from, gap.from + length} : Range{gap.to - length, gap.to}; };
      while (length < most && slots_.ns(window()) < ns * options_.lengths[f]) ++length;
      if (lengths.empty() || lengths.back() != length) lengths.push_back(length);
    }
    for (const std::uint32_t length : lengths) {
      found.push_back(leaves ? Range{gap.from, gap.from + length} : Range{gap.to - length, gap.to});
    }
    return found;
  }

  // What comes back in the gap in which it leaves has left before: at each begin of a coming window, no more have begun
  // to come than are slow.
  void add_order(const std::string& name, std::uint32_t units, std::uint32_t fast, const Gap& gap) {
    for (const Way& come : gap.come) {
      if (come.slots.empty()) continue;  // as the gap ends: all have left
      const std::uint32_t at = come.slots.from;
      Terms terms = {{fast, 1}};
      bool late = false;
      for (const Way& other : gap.come) {
        if (!other.slots.empty() && other.slots.from <= at) terms.push_back({other.column, 1});
      }
      for (const Way& leave : gap.leave) {
        const bool over = leave.slots.empty() || leave.slots.to <= at;
        late = late || !over;
        if (over) terms.push_back({leave.column, -1});
      }
      if (options_.clean) terms.push_back({gap.drop, -1});
      if (late) made_.program.add("order" + name + "_" + std::to_string(at), -kInfinity, units, std::move(terms));
    }
  }

  // By the roofline an op takes max(own time, traffic), and its traffic is linear in the units of its operands that are
  // fast: a column that is at least both does what AutoTM needs 2^n configurations for. One that is all traffic needs
  // no column.
  void add_op_times() {
    made_.op_time.assign(items_.ops.size(), Formula::kNone);
    exact_of_.assign(items_.ops.size(), Formula::kNone);
    for (std::uint32_t op = 0; op < items_.ops.size(); ++op) {
      const OpTime& time = items_.ops[op];
      if (time.counts && time.table != nullptr && !operands_[op].empty()) {
        add_configurations(op);
        continue;
      }
      if (!time.counts || savings_[op].empty() || time.fast_ns >= time.self_ns) {
        made_.program.offset += time.all_slow() / made_.ns;
        for (const Term& term : savings_[op]) made_.program.columns[term.column].cost -= term.factor;
        continue;
      }
      const std::string name = "op_" + std::to_string(op);
      made_.op_time[op] = made_.program.add({time.self_ns / made_.ns, kInfinity, 1, false, name});
      Terms terms = savings_[op];
      terms.push_back({made_.op_time[op], 1});
      made_.op_rows.push_back({static_cast<std::uint32_t>(made_.program.rows.size()), made_.op_time[op]});
      made_.program.add("time_" + name, time.slow_ns / made_.ns, kInfinity, std::move(terms));
    }
  }

  // An op that no two lines describe: one column c for each placement x of its operands, sum c = 1, and those in which
  // an operand is fast together are its fast share. Whole shares leave one c that is not 0. No equations: what they tie
  // together would be the whole program (neighborhoods.h).
  void add_configurations(std::uint32_t op) {
    const std::vector<double>& table = *items_.ops[op].table;
    const std::string name = "op_" + std::to_string(op) + "_";
    Configurations exact{op, static_cast<std::uint32_t>(made_.program.columns.size()), std::move(operands_[op])};
    while (std::size_t{1} << exact.fast.size() < table.size()) exact.fast.push_back({Formula::kNone, 0});
    Terms one;
    for (std::uint32_t mask = 0; mask < table.size(); ++mask) {
      one.push_back({made_.program.add({0, 1, table[mask] / made_.ns, false, name + std::to_string(mask)}), 1});
    }
    for (std::uint32_t i = 0; i < exact.fast.size(); ++i) {
      Terms fast, slow;
      for (std::uint32_t mask = 0; mask < table.size(); ++mask) {
        ((mask >> i & 1) != 0 ? slow : fast).push_back({exact.first + mask, 1});
      }
      if (exact.fast[i].column != Formula::kNone) {
        fast.push_back({exact.fast[i].column, -exact.fast[i].factor});
        slow.push_back({exact.fast[i].column, exact.fast[i].factor});
      }
      const std::string operand = std::to_string(i) + "_" + name;
      made_.program.add("fast" + operand, -kInfinity, 0, std::move(fast));
      made_.program.add("slow" + operand, -kInfinity, 1, std::move(slow));
    }
    made_.program.add("one_" + name, 1, 1, std::move(one));
    exact_of_[op] = static_cast<std::uint32_t>(made_.exact.size());
    made_.exact.push_back(std::move(exact));
  }

  // The ops of the slot after which something dies, or which end it: at no other is more alive.
  std::vector<std::uint32_t> points_of(std::uint32_t slot) const {
    std::vector<std::uint32_t> points;
    const std::uint32_t end = slots_.first_op(slot + 1);
    for (std::uint32_t op = slots_.first_op(slot); op < end; ++op) {
      bool dies = false;
      for (std::size_t h = 0; h < room_[slot].size() && !dies; ++h) {
        const Item& item = items_.items[room_[slot][h].item];
        dies = !item.resident && item.death == op;
      }
      if (dies || op + 1 == end) points.push_back(op);
    }
    return points;
  }

  void add_room() {
    for (std::uint32_t slot = 0; slot < slots_.count(); ++slot) {
      const std::vector<std::uint32_t> points = points_of(slot);
      const std::size_t rows = std::min<std::size_t>(points.size(), kPointsOfSlot);
      for (std::size_t r = 0; r < rows; ++r) {
        Terms terms;
        double most = 0;
        for (const Held& held : room_[slot]) {
          bool alive = false;
          for (std::size_t p = points.size() * r / rows; p < points.size() * (r + 1) / rows; ++p) {
            alive = alive || items_.items[held.item].alive(points[p]);
          }
          if (!alive) continue;
          terms.push_back(held.term);
          most += held.term.factor * items_.items[held.item].units;
        }
        if (most <= kWhole) continue;
        made_.room_rows.push_back(static_cast<std::uint32_t>(made_.program.rows.size()));
        made_.program.add("room_" + std::to_string(slot) + "_" + std::to_string(r), -kInfinity,
                          options_.capacity > 0 ? kWhole : 0, std::move(terms));
      }
    }
  }

  // z_k >= the copies beside it: a slot is as long as its ops with what leads to them, or as the copies in either lane.
  void add_lanes() {
    made_.stretch.assign(slots_.count(), Formula::kNone);
    for (std::uint32_t slot = 0; slot < slots_.count(); ++slot) {
      if (load_[0][slot].empty() && load_[1][slot].empty()) continue;
      const std::string name = std::to_string(slot);
      made_.stretch[slot] = made_.program.add({0, kInfinity, 1, false, "stretch_" + name});
      Terms beside = {{made_.stretch[slot], -1}};
      double constant = 0;
      for (std::uint32_t op = slots_.first_op(slot); op < slots_.first_op(slot + 1); ++op) {
        constant += (workload_.ops[op].lead_ns - workload_.ops[op].spent_ns) / made_.ns;
        if (made_.op_time[op] != Formula::kNone) {
          beside.push_back({made_.op_time[op], -1});
          continue;
        }
        if (exact_of_[op] != Formula::kNone) {
          const std::vector<double>& table = *items_.ops[op].table;
          const std::uint32_t first = made_.exact[exact_of_[op]].first;
          for (std::uint32_t mask = 0; mask < table.size(); ++mask) {
            beside.push_back({first + mask, -table[mask] / made_.ns});
          }
          continue;
        }
        constant += items_.ops[op].all_slow() / made_.ns;
        beside.insert(beside.end(), savings_[op].begin(), savings_[op].end());
      }
      for (const std::size_t lane : {0u, 1u}) {
        if (load_[lane][slot].empty()) continue;
        Terms terms = load_[lane][slot];
        terms.insert(terms.end(), beside.begin(), beside.end());
        made_.lane_rows.push_back({static_cast<std::uint32_t>(made_.program.rows.size()), made_.stretch[slot]});
        made_.program.add((lane == 0 ? "to_fast_" : "to_slow_") + name, -kInfinity, constant, std::move(terms));
      }
    }
  }

  const Workload& workload_;
  const tier::Machine& machine_;
  const Slots& slots_;
  const Items& items_;
  const FormulaOptions& options_;
  std::vector<Terms> savings_;           // by op: what each fast unit saves
  std::vector<Terms> operands_;          // by op whose time is a table: as Configurations::fast
  std::vector<std::uint32_t> exact_of_;  // by op: index into Formula::exact, or kNone
  std::vector<std::vector<Held>> room_;  // by slot
  std::vector<Terms> load_[2];           // to fast, to slow; by slot
  Formula made_;
};

}  // namespace

double share_done(const Slots& slots, Range way, std::uint32_t at) {
  const double whole = slots.ns(way);
  if (at >= way.to) return 1;
  return whole > 0 ? slots.ns({way.from, at}) / whole
                   : static_cast<double>(at - way.from) / static_cast<double>(way.to - way.from);
}

Formula formulate(const Workload& workload, const tier::Machine& machine, const Slots& slots, const Items& items,
                  const FormulaOptions& options) {
  return Maker(workload, machine, slots, items, options).make();
}

namespace {

// The placements that the op takes, in parts, as if the fast parts of all its operands lay at their begin.
void choose_placements(const Configurations& exact, std::vector<double>& values) {
  std::vector<std::pair<double, std::uint32_t>> shares;  // fast; and whose
  for (std::uint32_t i = 0; i < exact.fast.size(); ++i) {
    const Term& fast = exact.fast[i];
    shares.push_back({fast.column == Formula::kNone ? 0 : values[fast.column] * fast.factor, i});
  }
  std::sort(shares.begin(), shares.end());
  std::uint32_t mask = 0;
  double from = 0;
  std::fill_n(values.begin() + exact.first, std::size_t{1} << shares.size(), 0.0);
  for (const auto& [share, operand] : shares) {
    values[exact.first + mask] += share - from;
    from = share;
    mask |= 1u << operand;
  }
  values[exact.first + mask] += 1 - from;
}

}  // namespace

void complete(const Formula& formula, std::vector<double>& values) {
  const Program& program = formula.program;
  for (const Configurations& exact : formula.exact) choose_placements(exact, values);
  for (const std::vector<Formula::Least>* rows : {&formula.op_rows, &formula.lane_rows}) {
    for (const Formula::Least& least : *rows) values[least.column] = program.columns[least.column].low;
    for (const Formula::Least& least : *rows) {
      const Row& row = program.rows[least.row];
      double sum = 0;
      for (std::uint32_t t = row.first; t < row.first + row.count; ++t) {
        sum += program.terms[t].factor * values[program.terms[t].column];
      }
      values[least.column] += std::max({0.0, row.low - sum, sum - row.high});  // its factor is 1 there, or -1
    }
  }
}

}  // namespace hearth::autotm
