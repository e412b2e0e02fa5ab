#include "policy/account_of.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "profile/op_kinds.h"

namespace hearth::policy {
namespace {

using plan::Account;
using plan::Reason;
using simulate::Object;
using simulate::Piece;
using tier::Tier;

// Of what its traffic takes longer in slow memory; what ops take longer by less is nothing to gain.
constexpr double kSomething = 0.02;

std::uint64_t rounded(double value) { return static_cast<std::uint64_t>(std::max(value, 0.0) + 0.5); }

// What the schedule does with an object.
struct Treatment {
  std::uint32_t pieces = 0, fast = 0, moving = 0;  // fast: from its begin to its end
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t first_stretch = kNoStretch, stretches = 0;
};

class Maker {
 public:
  Maker(const AccountInputs& from, const Ledger& ledger)
      : from_(from), ledger_(ledger), treatments_(from.workload.objects.size()) {
    std::vector<bool> moves(from.schedule.pieces.size(), false);
    for (const simulate::Move& move : from.schedule.moves) moves[move.piece] = true;
    for (std::uint32_t p = 0; p < from.schedule.pieces.size(); ++p) {
      const Piece& piece = from.schedule.pieces[p];
      Treatment& it = treatments_[piece.object];
      ++it.pieces;
      it.moving += moves[p] ? 1 : 0;
      it.fast += !moves[p] && piece.begin == Tier::fast ? 1 : 0;
      it.smallest = std::min(it.smallest, piece.bytes);
      if (from.stretch_of[p] == kNoStretch) continue;
      if (it.stretches++ == 0) it.first_stretch = from.stretch_of[p];
    }
  }

  Account make() const {
    Account account;
    for (const Ledger::OfClass& each : ledger_.classes()) {
      plan::ClassAccount& of = account.classes.emplace_back();
      of.stake = stake_of(each, 0);
      of.lifetime = each.lifetime;
      of.frequency = each.frequency;
    }
    for (std::uint32_t i = 0; i < treatments_.size(); ++i) {
      plan::ClassAccount& of = account.classes[ledger_.objects()[i].group];
      ++of.tensors;
      of.stake.bytes += from_.workload.objects[i].bytes;
      of.bytes_by_reason[static_cast<std::size_t>(reason_of(i))] += from_.workload.objects[i].bytes;
    }
    for (const std::uint32_t object : told_about()) account.tensors.push_back(tensor_account(object));
    account.timeline = timeline();
    return account;
  }

 private:
  plan::Stake stake_of(const Ledger::Figures& figures, std::uint64_t bytes) const {
    plan::Stake stake;
    stake.bytes = bytes;
    stake.gain_ns = rounded(figures.gain_ns);
    stake.possible_ns = rounded(figures.possible_ns);
    stake.moved_bytes = rounded(figures.moved);
    stake.lane_ns = rounded(figures.lane_ns);
    stake.fast_average = rounded(figures.fast.average(from_.step_ns));
    stake.fast_most = rounded(figures.fast.most());
    stake.windows = figures.fast.windows(static_cast<std::uint32_t>(from_.workload.ops.size()));
    return stake;
  }

  Reason reason_of(std::uint32_t index) const {
    const Object& object = from_.workload.objects[index];
    const Treatment& it = treatments_[index];
    const Ledger::OfObject& seen = ledger_.objects()[index];
    if (it.pieces == 0 || (!object.resident && !object.planned)) return Reason::unplanned;
    // What was to be fast and found no room is slow all the same.
    const double most = seen.fast.most();
    const bool wanted = it.moving + it.fast != 0;
    if (wanted && most < 1) return Reason::no_room;
    if (it.moving != 0) return Reason::moves;
    const bool all = it.fast == it.pieces && seen.fast_uses == seen.uses;
    if (all && most > static_cast<double>(object.bytes) - 1) return Reason::stays;
    if (wanted) return Reason::partly;
    if (seen.possible_ns <= kSomething * seen.more_ns) return Reason::no_gain;
    if (seen.room < static_cast<double>(it.smallest)) return Reason::no_room;
    return seen.possible_ns < round_trip_ns(object.bytes) ? Reason::seldom : Reason::no_time;
  }

  double round_trip_ns(std::uint64_t bytes) const {
    const auto each = static_cast<double>(bytes) * 1e9;
    const tier::Machine& m = from_.machine;
    return m.move_to_fast > 0 && m.move_to_slow > 0 ? each / m.move_to_fast + each / m.move_to_slow : 0;
  }

  // The largest, and of those that move the largest.
  std::vector<std::uint32_t> told_about() const {
    std::vector<std::uint32_t> order(treatments_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return from_.workload.objects[a].bytes > from_.workload.objects[b].bytes;
    });
    std::vector<std::uint32_t> told;
    for (std::size_t i = 0; i < order.size() && told.size() < Account::kTensors; ++i) {
      if (i < Account::kLargest || treatments_[order[i]].moving != 0) told.push_back(order[i]);
    }
    return told;
  }

  plan::TensorAccount tensor_account(std::uint32_t index) const {
    const profile::Profile& profile = from_.profile;
    const profile::Tensor& tensor = profile.tensors[from_.workload.objects[index].tensor];
    const Ledger::OfObject& seen = ledger_.objects()[index];
    const Treatment& it = treatments_[index];
    plan::TensorAccount of;
    of.stake = stake_of(seen, from_.workload.objects[index].bytes);
    const std::uint32_t op = profile::making_op(profile, tensor);
    of.op = plan::plain_name(profile.names[op < profile.ops.size() ? profile.ops[op].name : tensor.producer]);
    of.module = plan::plain_name(profile.names[tensor.module]);
    of.serial = tensor.serial;
    of.lifetime = tensor.lifetime;
    of.frequency = tensor.frequency;
    of.reason = reason_of(index);
    of.uses = seen.uses;
    of.fast_uses = seen.fast_uses;
    if (it.stretches != 0) of.first_stretch = it.first_stretch;
    of.stretches = it.stretches;
    return of;
  }

  // Where nothing changes in a part of the time, it is as it was at the end of the one before.
  std::vector<plan::Moment> timeline() const {
    std::vector<plan::Moment> chosen;
    const std::vector<plan::Moment>& moments = ledger_.moments();
    std::size_t next = 0;
    for (std::size_t part = 0; part < Account::kMoments && !moments.empty(); ++part) {
      const auto begin = static_cast<std::uint64_t>(from_.step_ns * static_cast<double>(part) / Account::kMoments);
      const auto end = static_cast<std::uint64_t>(from_.step_ns * static_cast<double>(part + 1) / Account::kMoments);
      plan::Moment most = moments[next == 0 ? 0 : next - 1];
      most.ns = begin;
      for (; next < moments.size() && moments[next].ns < end; ++next) {
        if (moments[next].total() > most.total()) most = moments[next];
      }
      chosen.push_back(most);
    }
    return chosen;
  }

  const AccountInputs& from_;
  const Ledger& ledger_;
  std::vector<Treatment> treatments_;  // by object
};

}  // namespace

Account account_of(const AccountInputs& from, const Ledger& ledger) { return Maker(from, ledger).make(); }

}  // namespace hearth::policy
