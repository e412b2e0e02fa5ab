#include "policy/choose.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "policy/timeline.h"

namespace hearth::policy {
namespace {

using simulate::Object;
using simulate::Op;
using simulate::Use;
using simulate::Workload;

constexpr double kPage = 4096;

// The ops that use each object.
class UsersOf {
 public:
  explicit UsersOf(const Workload& workload) : first_(workload.objects.size() + 1, 0) {
    for (const Use& use : workload.uses) ++first_[use.object + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    ops_.resize(workload.uses.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
      for (std::uint32_t i = 0; i < workload.ops[op].uses; ++i) {
        ops_[next[workload.uses[workload.ops[op].first_use + i].object]++] = op;
      }
    }
  }
  std::span<const std::uint32_t> operator[](std::uint32_t object) const {
    return {ops_.data() + first_[object], ops_.data() + first_[object + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> ops_;
};

// One greedy choice, and what a search by exchange makes of it.
class Chooser {
 public:
  // An object's cost is its bytes times (floor + (1 - floor) * the share of the iteration in which it is alive).
  Chooser(const Workload& workload, const tier::Machine& machine, double capacity, double floor)
      : workload_(workload),
        machine_(machine),
        users_(workload),
        floor_(floor),
        timeline_(workload.period, capacity),
        shares_(choose_all(workload, 1)) {}

  Shares choose() {
    for (std::uint32_t i = 0; i < workload_.objects.size(); ++i) push(i);
    while (!queue_.empty()) {
      const auto [density, object] = queue_.top();
      queue_.pop();
      const double now = density_of(object);
      if (!queue_.empty() && now < queue_.top().first) {
        if (now > 0) queue_.push({now, object});
        continue;
      }
      if (now > 0) take(object);
    }
    for (int round = 0; round < kRounds && exchange_all(); ++round) {
    }
    fill_what_is_left();
    return std::move(shares_);
  }

 private:
  static constexpr int kRounds = 4;
  static constexpr std::size_t kCandidates = 96;  // of a round: those that would save most
  static constexpr std::size_t kVictims = 48;     // that may make way for one

  // ns that the ops using it take less when the object is fast than when it is slow, everything else being as it is.
  double saving_of(std::uint32_t object) {
    const float former = shares_[object];
    double saved = 0;
    std::uint32_t last = 0xffffffffu;
    for (const std::uint32_t op : users_[object]) {
      if (op == last) continue;  // uses it twice
      last = op;
      shares_[object] = 1;
      saved += simulate::op_ns(workload_, machine_, workload_.ops[op], shares_);
      shares_[object] = 0;
      saved -= simulate::op_ns(workload_, machine_, workload_.ops[op], shares_);
    }
    shares_[object] = former;
    return saved;
  }

  double cost_of(std::uint32_t object) const {
    const Object& it = workload_.objects[object];
    return static_cast<double>(it.bytes) * (floor_ + (1 - floor_) * timeline_.share(it));
  }

  double density_of(std::uint32_t object) { return saving_of(object) / cost_of(object); }

  void push(std::uint32_t object) {
    if (const double density = density_of(object); density > 0) queue_.push({density, object});
  }

  void take(std::uint32_t object) {
    const Object& it = workload_.objects[object];
    const auto bytes = static_cast<double>(it.bytes);
    const double room = timeline_.room(it);
    if (room >= bytes) {
      timeline_.take(it, bytes);
      shares_[object] = 0;
    } else if (it.resident && room >= kPage) {
      const double part = static_cast<double>(static_cast<std::uint64_t>(room / kPage)) * kPage;
      timeline_.take(it, part);
      shares_[object] = static_cast<float>(1 - part / bytes);
    }
  }

  void leave(std::uint32_t object) {
    const Object& it = workload_.objects[object];
    timeline_.take(it, -static_cast<double>(it.bytes) * (1 - static_cast<double>(shares_[object])));
    shares_[object] = 1;
  }

  // Slow objects, most useful first, each against the least useful that are in its way. True if any exchange paid.
  bool exchange_all() {
    std::vector<std::pair<double, std::uint32_t>> slow;
    std::vector<std::pair<double, std::uint32_t>> fast;
    for (std::uint32_t i = 0; i < workload_.objects.size(); ++i) {
      const double saving = saving_of(i);
      if (shares_[i] > 0 && saving > 0) slow.push_back({-saving, i});
      if (shares_[i] < 1) fast.push_back({saving / cost_of(i), i});
    }
    std::sort(slow.begin(), slow.end());
    std::sort(fast.begin(), fast.end());
    if (slow.size() > kCandidates) slow.resize(kCandidates);
    bool paid = false;
    for (const auto& [saving, object] : slow) paid |= exchange(object, fast);
    return paid;
  }

  bool exchange(std::uint32_t object, const std::vector<std::pair<double, std::uint32_t>>& fast) {
    const Object& it = workload_.objects[object];
    if (shares_[object] < 1) leave(object);
    std::vector<std::pair<std::uint32_t, float>> gone;
    double lost = 0;
    for (const auto& [density, victim] : fast) {
      if (timeline_.room(it) >= static_cast<double>(it.bytes) || gone.size() == kVictims) break;
      if (shares_[victim] >= 1 || victim == object || !meet(it, workload_.objects[victim])) continue;
      lost += saving_of(victim) * (1 - static_cast<double>(shares_[victim]));
      gone.push_back({victim, shares_[victim]});
      leave(victim);
    }
    const bool fits = timeline_.room(it) >= static_cast<double>(it.bytes);
    if (fits && saving_of(object) > lost * 1.0001) {
      take(object);
      // What still has room beside it comes back.
      for (auto victim = gone.rbegin(); victim != gone.rend(); ++victim) take(victim->first);
      return true;
    }
    for (const auto& [victim, share] : gone) {
      const Object& back = workload_.objects[victim];
      timeline_.take(back, static_cast<double>(back.bytes) * (1 - static_cast<double>(share)));
      shares_[victim] = share;
    }
    take(object);  // in part, as before
    return false;
  }

  static bool meet(const Object& a, const Object& b) {
    for (const simulate::Span& x : a.alive) {
      for (const simulate::Span& y : b.alive) {
        if (std::max(x.from, y.from) < std::min(x.to, y.to)) return true;
      }
    }
    return false;
  }

  // Objects without a saving of their own may save something together (all operands of an op that is slow by any of
  // them); room that nobody else wants costs nothing.
  void fill_what_is_left() {
    std::vector<std::pair<double, std::uint32_t>> rest;
    for (std::uint32_t i = 0; i < workload_.objects.size(); ++i) {
      if (shares_[i] < 1) continue;
      double bytes = 0;
      for (const std::uint32_t op : users_[i]) bytes += used_by(i, op);
      rest.push_back({-bytes / cost_of(i), i});
    }
    std::sort(rest.begin(), rest.end());
    for (const auto& [density, object] : rest) take(object);
  }

  double used_by(std::uint32_t object, std::uint32_t op) const {
    double bytes = 0;
    const Op& it = workload_.ops[op];
    for (std::uint32_t i = 0; i < it.uses; ++i) {
      const Use& use = workload_.uses[it.first_use + i];
      if (use.object == object) bytes += use.read + use.write;
    }
    return bytes;
  }

  const Workload& workload_;
  const tier::Machine& machine_;
  UsersOf users_;
  double floor_;
  Timeline timeline_;
  Shares shares_;
  std::priority_queue<std::pair<double, std::uint32_t>> queue_;
};

// How much it counts that an object lives long: from "only its bytes" to "bytes times life".
constexpr double kFloors[] = {0.0, 0.05, 0.2, 0.5, 1.0};

}  // namespace

Shares choose_all(const Workload& workload, float slow) { return Shares(workload.objects.size(), slow); }

Shares choose_sentinel(const Workload& workload, const tier::Machine& machine, double capacity) {
  Shares best;
  double best_ns = 0;
  for (const double floor : kFloors) {
    Shares shares = Chooser(workload, machine, capacity, floor).choose();
    const double ns = simulate::simulate(workload, machine, shares).step_ns;
    if (best.empty() || ns < best_ns) {
      best_ns = ns;
      best = std::move(shares);
    }
  }
  return best;
}

Shares choose_first_touch(const Workload& workload, double capacity) {
  Shares shares = choose_all(workload, 1);
  Timeline timeline(workload.period, capacity);
  for (std::size_t i = 0; i < workload.objects.size(); ++i) {
    const Object& object = workload.objects[i];
    const auto bytes = static_cast<double>(object.bytes);
    if (timeline.room(object) < bytes) continue;
    timeline.take(object, bytes);
    shares[i] = 0;
  }
  return shares;
}

Shares choose_interleave(const Workload& workload, double capacity) {
  const simulate::Outcome all = simulate::simulate(workload, {}, choose_all(workload, 0));
  const auto peak = static_cast<double>(all.fast_peak);
  return choose_all(workload, peak > capacity ? static_cast<float>(1 - capacity / peak) : 0.0F);
}

}  // namespace hearth::policy
