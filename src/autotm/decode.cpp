#include "autotm/decode.h"

#include <algorithm>
#include <cmath>

#include "simulate/simulate.h"

namespace hearth::autotm {
namespace {

using simulate::Move;
using simulate::Object;
using simulate::Schedule;
using simulate::Workload;
using tier::Tier;

constexpr std::uint64_t kPage = 4096;

// One unit's way through its clusters.
struct Path {
  bool begins_fast = false;
  std::vector<Move> moves;  // of no piece yet
};

class Decoder {
 public:
  Decoder(const Workload& workload, const Slots& slots, const Items& items, const Formula& formula,
          const std::vector<double>& values)
      : workload_(workload), slots_(slots), items_(items), formula_(formula), values_(values) {}

  Schedule decode(double capacity) {
    std::vector<std::vector<Path>> paths(workload_.objects.size());
    for (std::uint32_t i = 0; i < items_.items.size(); ++i) {
      const std::vector<Path> found = paths_of(i);
      for (const std::uint32_t object : items_.items[i].objects) paths[object] = found;
    }
    schedule_.capacity = capacity;
    for (std::uint32_t object = 0; object < paths.size(); ++object) {
      const bool placed = workload_.objects[object].resident || workload_.objects[object].planned;
      if (paths[object].empty() || alike(paths[object])) paths[object].resize(1);
      if (placed) add_pieces(object, paths[object]);
    }
    // Room is made before it is taken.
    std::stable_sort(schedule_.moves.begin(), schedule_.moves.end(), [](const Move& a, const Move& b) {
      return a.at != b.at ? a.at < b.at : (a.to == Tier::slow) > (b.to == Tier::slow);
    });
    return std::move(schedule_);
  }

 private:
  // All units stay where they begin, on one tier: a piece will do.
  static bool alike(const std::vector<Path>& paths) {
    return std::all_of(paths.begin(), paths.end(), [&](const Path& path) {
      return path.moves.empty() && path.begins_fast == paths.front().begins_fast;
    });
  }

  std::uint32_t count(std::uint32_t column) const {
    return static_cast<std::uint32_t>(std::max(0.0, std::round(values_[column])));
  }

  // Of the units the first ones are fast: so those of residents end an iteration where they began it.
  std::vector<Path> paths_of(std::uint32_t i) const {
    const Item& item = items_.items[i];
    std::vector<std::uint8_t> valid(item.units, 0);
    std::vector<Path> paths = lap(i, valid);
    if (item.resident) paths = lap(i, valid);  // by now it is known which slow copies are valid as it begins
    for (Path& path : paths) settle(item, path);
    return paths;
  }

  // `valid`: by unit, is there a slow copy that has not been written since.
  std::vector<Path> lap(std::uint32_t i, std::vector<std::uint8_t>& valid) const {
    const Item& item = items_.items[i];
    const Placed& placed = formula_.placed[i];
    std::vector<Path> paths(item.units);
    for (std::uint32_t u = 0; u < item.units; ++u) paths[u].begins_fast = u < count(placed.fast[0]);
    for (std::size_t g = 0; g < placed.gaps.size(); ++g) {
      const Gap& gap = placed.gaps[g];
      const std::uint32_t next = placed.fast[g + 1 < placed.fast.size() ? g + 1 : 0];
      if (item.clusters[g].writes) std::fill(valid.begin(), valid.end(), std::uint8_t{0});
      std::vector<Way> ways = ways_of(gap.leave);
      for (std::uint32_t u = count(gap.stay); u < count(placed.fast[g]); ++u) {
        const bool clean = !placed.clean.empty() && valid[u] != 0;
        const Way way = clean || ways.empty() ? usual(gap.leave) : ways.back();
        if (!clean && !ways.empty()) ways.pop_back();
        paths[u].moves.push_back(clean ? drop_of(gap) : move_of(Tier::slow, way, gap));
      }
      ways = ways_of(gap.come);
      for (std::uint32_t u = count(gap.stay); u < count(next); ++u) {
        paths[u].moves.push_back(move_of(Tier::fast, ways.empty() ? usual(gap.come) : ways.back(), gap));
        if (!ways.empty()) ways.pop_back();
        valid[u] = 1;
      }
    }
    return paths;
  }

  // One for each unit that takes it; the first ones last.
  std::vector<Way> ways_of(const std::vector<Way>& ways) const {
    std::vector<Way> taken;
    for (const Way& way : ways) taken.insert(taken.end(), count(way.column), way);
    std::reverse(taken.begin(), taken.end());
    return taken;
  }

  static const Way& usual(const std::vector<Way>& ways) { return ways.size() > 1 ? ways[1] : ways[0]; }

  // At once, for nothing.
  Move drop_of(const Gap& gap) const {
    Move move = move_of(Tier::slow, {0, {gap.slots.from, gap.slots.from}}, gap);
    move.due = std::min(move.at + 1, slots_.first_op(slots_.count()));
    move.wait = false;
    move.clean = true;
    return move;
  }

  Move move_of(Tier to, const Way& way, const Gap& gap) const {
    const std::uint32_t slots = slots_.count();
    const std::uint32_t now = to == Tier::slow ? gap.slots.from : gap.slots.to;
    Range when = way.slots.empty() ? Range{now, now} : way.slots;
    const std::uint32_t later = when.from / slots * slots;
    if (later != 0) when = {when.from - later, when.to - later};
    Move move;
    move.to = to;
    move.at = slots_.first_op(when.from);
    move.due = slots_.first_op(std::min(when.to, slots));
    move.ns = slots_.ns(when);
    move.wait = way.slots.empty();
    return move;
  }

  static void settle(const Item& item, Path& path) {
    std::stable_sort(path.moves.begin(), path.moves.end(),
                     [](const Move& a, const Move& b) { return a.at != b.at ? a.at < b.at : a.due < b.due; });
    // Alive all the time, it begins where it ended.
    if (item.resident && !path.moves.empty()) path.begins_fast = path.moves.back().to == Tier::fast;
  }

  void add_pieces(std::uint32_t object, const std::vector<Path>& paths) {
    const std::uint64_t pages = workload_.objects[object].bytes / kPage;
    const std::uint64_t units = std::clamp<std::uint64_t>(paths.size(), 1, std::max<std::uint64_t>(pages, 1));
    for (std::uint64_t u = 0; u < units; ++u) {
      simulate::Piece piece;
      piece.object = object;
      piece.bytes = (pages * (u + 1) / units - pages * u / units) * kPage;
      piece.share = static_cast<double>(piece.bytes) / static_cast<double>(pages * kPage);
      piece.begin = paths[u].begins_fast ? Tier::fast : Tier::slow;
      for (Move move : paths[u].moves) {
        move.piece = static_cast<std::uint32_t>(schedule_.pieces.size());
        schedule_.moves.push_back(move);
      }
      schedule_.pieces.push_back(piece);
    }
  }

  const Workload& workload_;
  const Slots& slots_;
  const Items& items_;
  const Formula& formula_;
  const std::vector<double>& values_;
  Schedule schedule_;
};

// What a schedule says of a moment, as if every move were over when it is due.
class Residence {
 public:
  Residence(const Workload& workload, const Schedule& schedule)
      : workload_(workload), schedule_(schedule), pieces_(workload.objects.size()), moves_(schedule.pieces.size()) {
    for (std::uint32_t p = 0; p < schedule.pieces.size(); ++p) pieces_[schedule.pieces[p].object].push_back(p);
    for (const Move& move : schedule.moves) moves_[move.piece].push_back(&move);
  }

  // Share of the object that is fast as the op begins.
  double fast(std::uint32_t object, std::uint32_t op) const {
    double share = 0;
    for (const std::uint32_t p : pieces_[object]) {
      if (is_fast(p, op)) share += schedule_.pieces[p].share;
    }
    return pieces_[object].empty() ? 1 : share;
  }

 private:
  bool is_fast(std::uint32_t p, std::uint32_t op) const {
    const simulate::Piece& piece = schedule_.pieces[p];
    const Object& object = workload_.objects[piece.object];
    const auto ops = static_cast<std::uint32_t>(workload_.ops.size());
    const std::uint32_t birth = object.resident ? 0 : object.birth_op;
    const auto age = [&](std::uint32_t at) { return at >= birth ? at - birth : at + ops - birth; };
    Tier tier = piece.begin;
    std::uint32_t last = 0;
    for (const Move* move : moves_[p]) {
      const std::uint32_t over = age(move->to == Tier::fast ? move->due : move->at);
      if (over > age(op) || over < last) continue;
      last = over;
      tier = move->to;
    }
    return tier == Tier::fast;
  }

  const Workload& workload_;
  const Schedule& schedule_;
  std::vector<std::vector<std::uint32_t>> pieces_;  // by object
  std::vector<std::vector<const Move*>> moves_;     // by piece
};

// Values that fill the program's room item by item.
class Filler {
 public:
  explicit Filler(const Formula& formula)
      : formula_(formula),
        values_(formula.program.columns.size(), 0),
        taken_(formula.program.rows.size(), 0),
        rows_(formula.program.columns.size()) {
    for (const std::uint32_t r : formula.room_rows) {
      const Row& row = formula.program.rows[r];
      for (std::uint32_t t = row.first; t < row.first + row.count; ++t) {
        rows_[formula.program.terms[t].column].push_back({r, formula.program.terms[t].factor});
      }
    }
  }

  // So many units fast in each cluster, and in each gap so many that stay. False: no room, nothing is placed.
  bool place(std::uint32_t i, const std::vector<std::uint32_t>& fast, const std::vector<std::uint32_t>& stay) {
    std::vector<Term> set;
    const Placed& placed = formula_.placed[i];
    for (std::size_t c = 0; c < placed.fast.size(); ++c) set.push_back({placed.fast[c], double(fast[c])});
    for (std::size_t g = 0; g < placed.gaps.size(); ++g) {
      const Gap& gap = placed.gaps[g];
      const std::uint32_t next = g + 1 < fast.size() ? fast[g + 1] : fast[0];
      set.push_back({gap.stay, double(stay[g])});
      set.push_back({way_of(gap.leave), double(fast[g] - stay[g])});
      set.push_back({way_of(gap.come), double(next - stay[g])});
    }
    for (const Term& term : set) take(term.column, term.factor);
    if (fits(set)) return true;
    for (const Term& term : set) take(term.column, -term.factor);
    return false;
  }

  std::vector<double> values() {
    complete(formula_, values_);
    return std::move(values_);
  }

 private:
  static std::uint32_t way_of(const std::vector<Way>& ways) {
    return ways.size() > 1 ? ways[1].column : ways[0].column;
  }

  void take(std::uint32_t column, double units) {
    values_[column] += units;
    for (const Use& use : rows_[column]) taken_[use.row] += use.factor * units;
  }

  bool fits(const std::vector<Term>& set) const {
    for (const Term& term : set) {
      if (term.factor == 0) continue;
      for (const Use& use : rows_[term.column]) {
        if (taken_[use.row] > formula_.program.rows[use.row].high) return false;
      }
    }
    return true;
  }

  struct Use {
    std::uint32_t row;
    double factor;
  };
  const Formula& formula_;
  std::vector<double> values_;
  std::vector<double> taken_;           // by row
  std::vector<std::vector<Use>> rows_;  // of room, by column
};

double worth_of(const Item& item) {
  double saving = 0;
  for (const Cluster& cluster : item.clusters) {
    for (const Visit& visit : cluster.visits) saving += visit.more_ns;
  }
  return saving / (item.bytes * (item.life.to - item.life.from));
}

}  // namespace

Schedule decode(const Workload& workload, const Slots& slots, const Items& items, const Formula& formula,
                const std::vector<double>& values, double capacity) {
  return Decoder(workload, slots, items, formula, values).decode(capacity);
}

std::vector<double> values_like(const Workload& workload, const Slots& slots, const Items& items,
                                const Formula& formula, const Schedule& schedule, Mode mode) {
  const Residence residence(workload, schedule);
  Filler filler(formula);
  const auto units_at = [&](const Item& item, std::uint32_t op) {
    double least = 1;
    for (const std::uint32_t object : item.objects) least = std::min(least, residence.fast(object, op));
    return static_cast<std::uint32_t>(least * item.units + 1e-6);
  };
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < items.items.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return worth_of(items.items[a]) > worth_of(items.items[b]); });
  std::vector<bool> done(items.items.size(), false);
  for (const std::uint32_t i : order) {
    const Item& item = items.items[i];
    const Placed& placed = formula.placed[i];
    std::vector<std::uint32_t> fast, stay;
    for (const Cluster& cluster : item.clusters) {
      const std::uint32_t first = slots.first_op(cluster.slots.from % slots.count());
      std::uint32_t least = units_at(item, item.alive(first) ? first : item.birth);
      for (const Visit& visit : cluster.visits) least = std::min(least, units_at(item, visit.op));
      fast.push_back(least);
    }
    for (std::size_t g = 0; g < placed.gaps.size(); ++g) {
      std::uint32_t least = std::min(fast[g], fast[g + 1 < fast.size() ? g + 1 : 0]);
      const Range gap = placed.gaps[g].slots;
      for (std::uint32_t at = gap.from; at < gap.to; ++at) {
        least = std::min(least, units_at(item, slots.first_op(at % slots.count())));
      }
      stay.push_back(least);
    }
    const std::uint32_t always = std::min(*std::min_element(fast.begin(), fast.end()),
                                          stay.empty() ? item.units : *std::min_element(stay.begin(), stay.end()));
    if (mode != Mode::asynchronous) {
      fast.assign(fast.size(), always);
      stay.assign(stay.size(), always);
    }
    const bool any = std::any_of(fast.begin(), fast.end(), [](std::uint32_t n) { return n > 0; });
    done[i] = any && filler.place(i, fast, stay);
  }
  for (const std::uint32_t i : order) {
    const std::size_t clusters = items.items[i].clusters.size();
    for (std::uint32_t units = items.items[i].units; units > 0 && !done[i]; --units) {
      done[i] =
          filler.place(i, std::vector<std::uint32_t>(clusters, units), std::vector<std::uint32_t>(clusters, units));
    }
  }
  return filler.values();
}

std::vector<double> op_times(const Workload& workload, const tier::Machine& machine, const Schedule& schedule) {
  const Residence residence(workload, schedule);
  std::vector<float> slow(workload.objects.size(), 0.0F);
  std::vector<double> times;
  for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
    const simulate::Op& it = workload.ops[op];
    for (std::uint32_t u = 0; u < it.uses; ++u) {
      const std::uint32_t object = workload.uses[it.first_use + u].object;
      slow[object] = static_cast<float>(1 - residence.fast(object, op));
    }
    times.push_back(simulate::op_ns(workload, machine, it, slow));
  }
  return times;
}

}  // namespace hearth::autotm
