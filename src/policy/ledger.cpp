#include "policy/ledger.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace hearth::policy {
namespace {

using simulate::Op;
using simulate::Use;
using tier::Tier;
using tier::time_of;

plan::FastKind kind_of(profile::Lifetime lifetime) {
  switch (lifetime) {
    case profile::Lifetime::short_lived:
      return plan::kShort;
    case profile::Lifetime::activation:
      return plan::kActivation;
    case profile::Lifetime::persistent:
      break;
  }
  return plan::kPersistent;
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::max(value, 0.0)); }

}  // namespace

void History::set(double bytes, double now_ns, std::uint32_t clock) {
  area_ += now_ * (now_ns - since_ns_);
  since_ns_ = now_ns;
  now_ = bytes;
  most_ = std::max(most_, bytes);
  if (!changes_.empty() && changes_.back().clock == clock) {
    changes_.back().bytes = bytes;
    changes_.back().most = std::max(changes_.back().most, bytes);
  } else {
    changes_.push_back({clock, bytes, bytes});
  }
}

double History::average(double step_ns) const {
  return step_ns > 0 ? (area_ + now_ * std::max(0.0, step_ns - since_ns_)) / step_ns : 0;
}

std::vector<plan::Window> History::windows(std::uint32_t ops) const {
  std::vector<plan::Window> windows;
  if (most_ < 1) return windows;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const std::uint32_t from = changes_[i].clock;
    const std::uint32_t next = i + 1 < changes_.size() ? std::min(changes_[i + 1].clock, ops) : ops;
    const bool there = changes_[i].bytes >= most_ / 2;
    const bool came_and_went = changes_[i].most >= most_ / 2 && (i == 0 || changes_[i - 1].bytes < most_ / 2);
    const std::uint32_t to = there ? next : std::min(from + 1, next);
    if (!(there || came_and_went) || from >= to) continue;
    if (!windows.empty() && windows.back().to == from) {
      windows.back().to = to;
    } else {
      windows.push_back({from, to});
    }
  }
  return windows;
}

Ledger::Ledger(const profile::Profile& profile, const simulate::Workload& workload, const tier::Machine& machine,
               const simulate::Schedule& schedule)
    : workload_(workload),
      machine_(machine),
      schedule_(schedule),
      objects_(workload.objects.size()),
      pieces_(schedule.pieces.size(), 0.0) {
  for (OfObject& object : objects_) object.room = std::numeric_limits<double>::max();
  for (const simulate::Piece& piece : schedule.pieces) {
    const profile::Tensor& tensor = profile.tensors[workload.objects[piece.object].tensor];
    kinds_.push_back(piece.pooled ? plan::kPool : kind_of(tensor.lifetime));
  }
  fast_[plan::kPool] = schedule.pool;
  sort_into_classes(profile);
}

void Ledger::sort_into_classes(const profile::Profile& profile) {
  std::map<std::pair<profile::Lifetime, std::uint8_t>, std::uint32_t> numbers;
  const auto key = [&](const simulate::Object& object) {
    const profile::Tensor& tensor = profile.tensors[object.tensor];
    return std::pair(tensor.lifetime, tensor.frequency);
  };
  for (const simulate::Object& object : workload_.objects) numbers[key(object)] = 0;
  for (auto& [of, number] : numbers) {
    number = static_cast<std::uint32_t>(classes_.size());
    classes_.emplace_back();
    classes_.back().lifetime = of.first;
    classes_.back().frequency = of.second;
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) objects_[i].group = numbers[key(workload_.objects[i])];
  longer_.assign(classes_.size(), 0.0);
  shorter_.assign(classes_.size(), 0.0);
}

void Ledger::lies(std::uint32_t piece, double fast_bytes, double now_ns) {
  const double change = fast_bytes - pieces_[piece];
  pieces_[piece] = fast_bytes;
  if (kinds_[piece] != plan::kPool) fast_[kinds_[piece]] += change;
  OfObject& object = objects_[schedule_.pieces[piece].object];
  History& of_class = classes_[object.group].fast;
  object.fast.set(object.fast.bytes() + change, now_ns, clock_);
  of_class.set(of_class.bytes() + change, now_ns, clock_);
  note(clock_ == 0 ? 0 : clock_ - 1, now_ns);
}

// Of what happens at one time, when most is fast, and what is left.
void Ledger::note(std::uint32_t op, double now_ns) {
  plan::Moment moment{op, whole(now_ns), {}};
  for (std::uint32_t kind = 0; kind < plan::kFastKinds; ++kind) moment.fast[kind] = whole(fast_[kind]);
  const std::size_t count = moments_.size();
  const bool two = count >= 2 && moments_[count - 2].ns == moment.ns;
  if (!two) return moments_.push_back(moment);
  if (moments_[count - 1].total() > moments_[count - 2].total()) moments_[count - 2] = moments_[count - 1];
  moments_[count - 1] = moment;
}

void Ledger::moved(std::uint32_t piece, Tier to, double bytes) {
  const double ns = time_of(bytes, to == Tier::fast ? machine_.move_to_fast : machine_.move_to_slow);
  OfObject& object = objects_[schedule_.pieces[piece].object];
  for (Figures* each : {static_cast<Figures*>(&object), static_cast<Figures*>(&classes_[object.group])}) {
    each->moved += bytes;
    each->lane_ns += ns;
  }
}

double Ledger::free() const {
  double taken = 0;
  for (const double bytes : fast_) taken += bytes;
  return schedule_.capacity > 0 ? schedule_.capacity - taken : std::numeric_limits<double>::max();
}

void Ledger::ran(std::uint32_t op, double begin_ns, double, std::span<const float> slow) {
  note(op, begin_ns);
  weigh(workload_.ops[op], slow);
  clock_ = op + 1;
}

// What the op would take were one of its operands elsewhere, all others being where they are.
void Ledger::weigh(const Op& op, std::span<const float> slow) {
  constexpr double kHalf = 0.5;
  double traffic = 0;
  const auto uses = std::span(workload_.uses).subspan(op.first_use, op.uses);
  for (const Use& use : uses) {
    const double on_fast = time_of(use.read, machine_.fast.read) + time_of(use.write, machine_.fast.write);
    const double on_slow = time_of(use.read, machine_.slow.read) + time_of(use.write, machine_.slow.write);
    const auto share = static_cast<double>(slow[use.object]);
    traffic += on_slow * share + on_fast * (1 - share);
  }
  const double now = std::max(op.self_ns, traffic);
  const double room = free();
  touched_.clear();
  for (const Use& use : uses) {
    const double more = time_of(use.read, machine_.slow.read) - time_of(use.read, machine_.fast.read) +
                        time_of(use.write, machine_.slow.write) - time_of(use.write, machine_.fast.write);
    const auto share = static_cast<double>(slow[use.object]);
    const double longer = more * (1 - share);
    const double shorter = more * share;
    OfObject& object = objects_[use.object];
    object.gain_ns += std::max(op.self_ns, traffic + longer) - now;
    object.possible_ns += now - std::max(op.self_ns, traffic - shorter);
    object.more_ns += more;
    ++object.uses;
    if (share <= kHalf) {
      ++object.fast_uses;
    } else {
      object.room = std::min(object.room, room);
    }
    if (longer_[object.group] == 0 && shorter_[object.group] == 0) touched_.push_back(object.group);
    longer_[object.group] += longer;
    shorter_[object.group] += shorter;
  }
  for (const std::uint32_t group : touched_) {
    classes_[group].gain_ns += std::max(op.self_ns, traffic + longer_[group]) - now;
    classes_[group].possible_ns += now - std::max(op.self_ns, traffic - shorter_[group]);
    longer_[group] = shorter_[group] = 0;
  }
}

}  // namespace hearth::policy
