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

class Chooser {
 public:
  Chooser(const Workload& workload, const tier::Machine& machine, double capacity)
      : workload_(workload),
        machine_(machine),
        users_(workload),
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
    fill_what_is_left();
    return std::move(shares_);
  }

 private:
  // ns saved if the object lay fast, everything else being as it is.
  double saving_of(std::uint32_t object) {
    const float former = shares_[object];
    double saved = 0;
    std::uint32_t last = 0xffffffffu;
    for (const std::uint32_t op : users_[object]) {
      if (op == last) continue;  // uses it twice
      last = op;
      saved += simulate::op_ns(workload_, machine_, workload_.ops[op], shares_);
      shares_[object] = 0;
      saved -= simulate::op_ns(workload_, machine_, workload_.ops[op], shares_);
      shares_[object] = former;
    }
    return saved;
  }

  double density_of(std::uint32_t object) {
    const Object& it = workload_.objects[object];
    return saving_of(object) / (static_cast<double>(it.bytes) * timeline_.share(it));
  }

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

  // Objects without a saving of their own may save something together (all operands of an op that is slow by any of
  // them); room that nobody else wants costs nothing.
  void fill_what_is_left() {
    std::vector<std::pair<double, std::uint32_t>> rest;
    for (std::uint32_t i = 0; i < workload_.objects.size(); ++i) {
      if (shares_[i] < 1) continue;
      double bytes = 0;
      for (const std::uint32_t op : users_[i]) bytes += used_by(i, op);
      const Object& it = workload_.objects[i];
      rest.push_back({bytes / (static_cast<double>(it.bytes) * timeline_.share(it)), i});
    }
    std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
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
  Timeline timeline_;
  Shares shares_;
  std::priority_queue<std::pair<double, std::uint32_t>> queue_;
};

}  // namespace

Shares choose_all(const Workload& workload, float slow) { return Shares(workload.objects.size(), slow); }

Shares choose_sentinel(const Workload& workload, const tier::Machine& machine, double capacity) {
  return Chooser(workload, machine, capacity).choose();
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
