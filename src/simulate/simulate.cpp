#include "simulate/simulate.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "tier/charge.h"

namespace hearth::simulate {
namespace {

using tier::Tier;
using tier::time_of;

double traffic_ns(const Workload& workload, const tier::Machine& machine, const Op& op, std::span<const float> slow) {
  double traffic = 0;
  for (std::uint32_t i = 0; i < op.uses; ++i) {
    const Use& use = workload.uses[op.first_use + i];
    const auto share = static_cast<double>(slow[use.object]);
    traffic += time_of(use.read * share, machine.slow.read) + time_of(use.write * share, machine.slow.write) +
               time_of(use.read * (1 - share), machine.fast.read) +
               time_of(use.write * (1 - share), machine.fast.write);
  }
  return traffic;
}

// Most bytes of live objects on the fast tier at once, without moves.
std::uint64_t peak_of(const Workload& workload, std::span<const float> slow) {
  std::vector<double> changes(workload.period + 1, 0.0);
  for (std::size_t i = 0; i < workload.objects.size(); ++i) {
    const double bytes = static_cast<double>(workload.objects[i].bytes) * (1.0 - static_cast<double>(slow[i]));
    for (const Span& span : workload.objects[i].alive) {
      changes[span.from] += bytes;
      changes[span.to] -= bytes;
    }
  }
  double now = 0;
  double most = 0;
  for (const double change : changes) most = std::max(most, now += change);
  return static_cast<std::uint64_t>(most);
}

// One direction of moves: what has been asked for, most urgent first.
struct Lane {
  double bandwidth = 0;  // bytes per ns
  std::vector<std::uint32_t> queue;
};

class Run {
 public:
  Run(const Workload& workload, const tier::Machine& machine, const Schedule& schedule)
      : workload_(workload),
        machine_(machine),
        schedule_(schedule),
        fast_(schedule.pieces.size(), 0.0),
        slow_(workload.objects.size(), 0.0F),
        alive_(workload.objects.size(), 0),
        births_(workload.ops.size() + 1),
        deaths_(workload.ops.size() + 1),
        begins_(workload.ops.size()),
        seen_(workload.uses.size(), kNotSeen),
        pieces_(workload.objects.size()),
        by_due_(schedule.moves.size()) {
    claimed_ = schedule.pool;
    lanes_[kFast].bandwidth = machine.move_to_fast / 1e9;
    lanes_[kSlow].bandwidth = machine.move_to_slow / 1e9;
    for (std::uint32_t p = 0; p < schedule.pieces.size(); ++p) pieces_[schedule.pieces[p].object].push_back(p);
    for (std::uint32_t i = 0; i < workload.objects.size(); ++i) {
      const Object& object = workload.objects[i];
      if (object.resident || object.death_op < object.birth_op) give_birth(i);
      if (object.resident) continue;
      births_[object.birth_op].push_back(i);
      deaths_[object.death_op].push_back(i);
    }
    for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
      const std::uint32_t first = workload.ops[op].begins_in(op);
      if (workload.ops[op].uses > 0 && first < op) begins_[first].push_back(op);
    }
    step_ns_ = all_slow_ns(workload, machine);
    for (std::uint32_t i = 0; i < by_due_.size(); ++i) by_due_[i] = i;
    std::stable_sort(by_due_.begin(), by_due_.end(),
                     [&](auto a, auto b) { return schedule.moves[a].due < schedule.moves[b].due; });
  }

  Outcome go(Watcher* watcher) {
    iterate();  // what the moves of one iteration leave to do for the next
    outcome_ = {};
    now_ = area_ = 0;
    watcher_ = watcher;
    for (std::uint32_t p = 0; watcher != nullptr && p < fast_.size(); ++p) watcher->lies(p, fast_[p], now_);
    iterate();
    outcome_.step_ns = now_;
    outcome_.fast_average = now_ > 0 ? area_ / now_ : 0;
    return outcome_;
  }

 private:
  static constexpr std::size_t kFast = 0, kSlow = 1;
  static constexpr double kTick = 1.0 / 512;  // of the iteration: the lanes are looked at that often at least
  static constexpr float kNotSeen = -1;

  void iterate() {
    std::size_t next = 0;
    std::size_t due = 0;
    const auto count = static_cast<std::uint32_t>(workload_.ops.size());
    for (std::uint32_t op = 0; op <= count; ++op) {
      for (; next < schedule_.moves.size() && schedule_.moves[next].at <= op; ++next)
        post(static_cast<std::uint32_t>(next));
      for (; due < by_due_.size() && schedule_.moves[by_due_[due]].due <= op; ++due) look_at(by_due_[due]);
      for (const std::uint32_t object : births_[op]) give_birth(object);
      if (op < count) {
        for (const std::uint32_t begun : begins_[op]) see(workload_.ops[begun]);
        run(workload_.ops[op]);
      }
      for (const std::uint32_t object : deaths_[op]) bury(object);
    }
    pass(workload_.rest_ns);
  }

  void set_fast(std::uint32_t piece, double bytes) {
    const Piece& it = schedule_.pieces[piece];
    if (!it.pooled) claimed_ += bytes - fast_[piece];
    fast_[piece] = bytes;
    if (watcher_ != nullptr) watcher_->lies(piece, bytes, now_);
    outcome_.fast_peak = std::max(outcome_.fast_peak, static_cast<std::uint64_t>(std::max(claimed_, 0.0)));
    double slow = 0;
    for (const std::uint32_t p : pieces_[it.object]) {
      const auto whole = static_cast<double>(schedule_.pieces[p].bytes);
      slow += schedule_.pieces[p].share * (1 - fast_[p] / whole);
    }
    slow_[it.object] = static_cast<float>(slow);
  }

  void give_birth(std::uint32_t object) {
    alive_[object] = 1;
    for (const std::uint32_t p : pieces_[object]) {
      const Piece& piece = schedule_.pieces[p];
      const auto bytes = static_cast<double>(piece.bytes);
      const bool limited = schedule_.capacity > 0 && !piece.pooled;
      const double room = limited ? std::clamp(schedule_.capacity - claimed_, 0.0, bytes) : bytes;
      set_fast(p, piece.begin == Tier::fast ? room : 0);
    }
  }

  void bury(std::uint32_t object) {
    alive_[object] = 0;
    // An op that is still running may have used it: where it was then is remembered.
    for (const std::uint32_t p : pieces_[object]) {
      if (!schedule_.pieces[p].pooled) claimed_ -= fast_[p];
      fast_[p] = 0;
      if (watcher_ != nullptr) watcher_->lies(p, 0, now_);
    }
  }

  void post(std::uint32_t index) {
    const Move& move = schedule_.moves[index];
    // What it was asked for before and did not come to is not worth it any more.
    for (Lane& lane : lanes_) {
      std::erase_if(lane.queue, [&](std::uint32_t i) { return schedule_.moves[i].piece == move.piece; });
    }
    if (move.clean && machine_.keeps_copies) {
      if (alive_[schedule_.pieces[move.piece].object] != 0) set_fast(move.piece, 0);
      return;
    }
    Lane& lane = lanes_[move.to == Tier::fast ? kFast : kSlow];
    const auto later = [&](std::uint32_t due, std::uint32_t other) { return due < schedule_.moves[other].due; };
    const auto place = std::upper_bound(lane.queue.begin(), lane.queue.end(), move.due, later);
    lane.queue.insert(place, index);
    advance(0);
  }

  void pass(double ns) {
    const double tick = std::max(1.0, step_ns_ * kTick);
    while (ns > 0) {
      const double part = std::min(ns, tick);
      area_ += claimed_ * part;
      now_ += part;
      ns -= part;
      advance(part);
    }
  }

  // The lanes work for so long. What leaves makes room for what comes.
  void advance(double ns) {
    for (const std::size_t which : {kSlow, kFast}) {
      Lane& lane = lanes_[which];
      double budget = lane.bandwidth * ns;
      while (!lane.queue.empty()) {
        const std::uint32_t index = lane.queue.front();
        const std::uint32_t piece = schedule_.moves[index].piece;
        const auto whole = static_cast<double>(schedule_.pieces[piece].bytes);
        double bytes = std::min(budget, which == kFast ? whole - fast_[piece] : fast_[piece]);
        if (which == kFast && schedule_.capacity > 0) bytes = std::min(bytes, schedule_.capacity - claimed_);
        bytes = std::max(bytes, 0.0);
        if (alive_[schedule_.pieces[piece].object] == 0) bytes = 0;
        budget -= bytes;
        (which == kFast ? outcome_.moved_to_fast : outcome_.moved_to_slow) += bytes;
        if (watcher_ != nullptr && bytes > 0) watcher_->moved(piece, which == kFast ? Tier::fast : Tier::slow, bytes);
        if (bytes > 0) set_fast(piece, which == kFast ? fast_[piece] + bytes : fast_[piece] - bytes);
        const bool there = which == kFast ? fast_[piece] >= whole - 1 : fast_[piece] <= 1;
        if (!there && alive_[schedule_.pieces[piece].object] != 0) break;
        lane.queue.erase(lane.queue.begin());
      }
    }
  }

  // The op begins, and others end before it does: what is there of its operands counts as it lies now.
  void see(const Op& op) {
    for (std::uint32_t i = op.first_use; i < op.first_use + op.uses; ++i) {
      const std::uint32_t object = workload_.uses[i].object;
      seen_[i] = alive_[object] != 0 ? slow_[object] : kNotSeen;
    }
  }

  void exchange(std::uint32_t use) {
    if (seen_[use] != kNotSeen) std::swap(seen_[use], slow_[workload_.uses[use].object]);
  }

  void run(const Op& op) {
    // What was seen stands in the place of what is so now.
    for (std::uint32_t i = 0; i < op.uses; ++i) exchange(op.first_use + i);
    const double lapse = op.lapse_ns(weigh(op));
    if (watcher_ != nullptr) {
      watcher_->ran(static_cast<std::uint32_t>(&op - workload_.ops.data()), now_, now_ + lapse, slow_);
    }
    for (std::uint32_t i = op.uses; i > 0; --i) exchange(op.first_use + i - 1);
    pass(lapse);
  }

  double weigh(const Op& op) {
    const double traffic = traffic_ns(workload_, machine_, op, slow_);
    double ns = op_ns(workload_, machine_, op, slow_);
    if (traffic >= op.self_ns) {
      const auto at_work =
          std::count_if(std::begin(lanes_), std::end(lanes_), [](const Lane& lane) { return !lane.queue.empty(); });
      ns += tier::interference_ns(machine_, traffic, static_cast<double>(at_work));
    }
    for (std::uint32_t i = 0; i < op.uses; ++i) {
      const Use& use = workload_.uses[op.first_use + i];
      outcome_.slow_bytes += (use.read + use.write) * static_cast<double>(slow_[use.object]);
    }
    return ns;
  }

  bool pending(std::uint32_t index) const {
    const Lane& lane = lanes_[schedule_.moves[index].to == Tier::fast ? kFast : kSlow];
    return std::find(lane.queue.begin(), lane.queue.end(), index) != lane.queue.end();
  }

  void look_at(std::uint32_t index) {
    if (!pending(index)) return;
    ++outcome_.late;
    if (!schedule_.moves[index].wait) return;
    const double begin = now_;
    const double tick = static_cast<double>(std::uint64_t{1} << 18) / lanes_[kFast].bandwidth;
    const double end = begin + patience_ns();
    while (pending(index) && now_ < end) pass(tick);
    outcome_.stall_ns += now_ - begin;
  }

  // As long as the runtime waits for one move; or as long as all that is asked for can take, where a machine that is
  // scaled down to this host moves so slowly that a move alone takes more. It never comes where there is no room.
  double patience_ns() const {
    double ns = 0;
    for (const Lane& lane : lanes_) {
      for (const std::uint32_t i : lane.queue) {
        ns += static_cast<double>(schedule_.pieces[schedule_.moves[i].piece].bytes) / lane.bandwidth;
      }
    }
    return std::max(kPatienceNs, ns);
  }

  static constexpr double kPatienceNs = 2e9;

  const Workload& workload_;
  const tier::Machine& machine_;
  const Schedule& schedule_;
  std::vector<double> fast_;                        // bytes, by piece
  std::vector<float> slow_;                         // share of each object
  std::vector<std::uint8_t> alive_;                 // by object
  std::vector<std::vector<std::uint32_t>> births_;  // objects, by op
  std::vector<std::vector<std::uint32_t>> deaths_;
  std::vector<std::vector<std::uint32_t>> begins_;  // ops that run others inside and use something, by Op::from
  std::vector<float> seen_;                         // by use: the slow share as its op began, or kNotSeen
  std::vector<std::vector<std::uint32_t>> pieces_;  // by object
  std::vector<std::uint32_t> by_due_;               // moves
  Lane lanes_[2];
  double now_ = 0;
  double step_ns_ = 0;  // at most, about
  double claimed_ = 0;  // bytes on the fast tier
  double area_ = 0;     // of them over time
  Outcome outcome_;
  Watcher* watcher_ = nullptr;
};

}  // namespace

double op_ns(const Workload& workload, const tier::Machine& machine, const Op& op, std::span<const float> slow) {
  if (op.cost != kNotMeasured) return workload.costs[op.cost].ns(slow);
  return std::max(op.self_ns, traffic_ns(workload, machine, op, slow));
}

double all_fast_ns(const Workload& workload, const tier::Machine& machine) {
  return simulate(workload, machine, std::vector<float>(workload.objects.size(), 0.0F)).step_ns;
}

double all_slow_ns(const Workload& workload, const tier::Machine& machine) {
  return simulate(workload, machine, std::vector<float>(workload.objects.size(), 1.0F)).step_ns;
}

Outcome simulate(const Workload& workload, const tier::Machine& machine, const Schedule& schedule, Watcher* watcher) {
  return Run(workload, machine, schedule).go(watcher);
}

Outcome simulate(const Workload& workload, const tier::Machine& machine, std::span<const float> slow) {
  Outcome outcome;
  outcome.step_ns = workload.rest_ns;
  for (const Op& op : workload.ops) outcome.step_ns += op.lapse_ns(op_ns(workload, machine, op, slow));
  for (const Use& use : workload.uses)
    outcome.slow_bytes += (use.read + use.write) * static_cast<double>(slow[use.object]);
  outcome.fast_peak = peak_of(workload, slow);
  return outcome;
}

}  // namespace hearth::simulate
