#include "plan/validate_residency.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace hearth::plan {
namespace {

std::string text(std::uint64_t value) { return std::to_string(value); }

Error refuse(std::size_t stretch, const char* what) {
  return Error{"stretch " + text(stretch) + " of its residency " + what};
}

Result<void> check_stretch(const Plan& plan, std::size_t index) {
  const Stretch& stretch = plan.residency.stretches[index];
  const std::size_t count = stretch.resident ? plan.residency.residents.size() : plan.arenas.size();
  if (stretch.index >= count) return refuse(index, "lies in what is not there");
  const std::uint64_t whole =
      stretch.resident ? plan.residency.residents[stretch.index].bytes : plan.arenas[stretch.index].bytes;
  if (stretch.bytes == 0) return refuse(index, "is empty");
  if (stretch.offset > whole || stretch.bytes > whole - stretch.offset) return refuse(index, "ends outside");
  if (stretch.offset % kPage != 0) return refuse(index, "does not begin at a page");
  if (stretch.bytes % kPage != 0 && !(stretch.resident && stretch.offset + stretch.bytes == whole)) {
    return refuse(index, "is no whole number of pages");
  }
  if (stretch.begin == Tier::none) return refuse(index, "begins on no tier");
  return {};
}

Result<void> check_overlap(const Residency& residency) {
  std::vector<std::size_t> order(residency.stretches.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t i) {
    const Stretch& s = residency.stretches[i];
    return std::tuple(s.resident, s.index, s.offset);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Stretch& before = residency.stretches[order[i - 1]];
    const Stretch& here = residency.stretches[order[i]];
    const bool same = before.resident == here.resident && before.index == here.index;
    if (same && before.offset + before.bytes > here.offset) return refuse(order[i], "overlaps another");
  }
  return {};
}

// Each stretch changes tier with each of its moves, and ends where it began.
Result<void> check_moves(const Plan& plan) {
  const Residency& residency = plan.residency;
  std::vector<Tier> now;
  for (const Stretch& stretch : residency.stretches) now.push_back(stretch.begin);
  for (std::size_t i = 0; i < residency.moves.size(); ++i) {
    const Move& move = residency.moves[i];
    const std::string which = "move " + text(i) + " of its residency ";
    if (move.stretch >= now.size()) return Error{which + "moves what is not there"};
    if (move.at > move.due || move.due > plan.entries.size()) return Error{which + "is due before it is asked for"};
    if (i != 0 && residency.moves[i - 1].at > move.at) return Error{which + "is out of order"};
    if (move.to == Tier::none || now[move.stretch] == move.to) return Error{which + "goes where its stretch is"};
    now[move.stretch] = move.to;
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] != residency.stretches[i].begin) return refuse(i, "does not end where it began");
  }
  return {};
}

Result<void> check_capacity(const Plan& plan) {
  const Residency& residency = plan.residency;
  std::uint64_t fast = 0;
  for (const Arena& arena : plan.arenas) fast += arena.bytes;
  for (const Stretch& stretch : residency.stretches) {
    if (!stretch.resident && stretch.begin == Tier::slow) fast -= stretch.bytes;
  }
  // What leaves counts until it is due, what comes as soon as it is asked for.
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes;
  for (const Move& move : residency.moves) {
    const auto bytes = static_cast<std::int64_t>(residency.stretches[move.stretch].bytes);
    if (move.to == Tier::fast) changes.emplace_back(move.at, bytes);
    if (move.to == Tier::slow) changes.emplace_back(move.due, -bytes);
  }
  std::sort(changes.begin(), changes.end());
  auto now = static_cast<std::int64_t>(fast);
  std::int64_t most = now;
  for (const auto& [at, bytes] : changes) most = std::max(most, now += bytes);
  if (static_cast<std::uint64_t>(most) <= residency.fast_capacity) return {};
  return Error{"its arenas lay " + text(static_cast<std::uint64_t>(most)) + " bytes fast at once, " +
               text(residency.fast_capacity) + " are allowed"};
}

}  // namespace

Result<void> validate_residency(const Plan& plan) {
  if (!plan.residency.present()) return {};
  for (std::size_t i = 0; i < plan.residency.stretches.size(); ++i) {
    if (Result<void> stretch = check_stretch(plan, i); !stretch) return stretch;
  }
  if (Result<void> overlap = check_overlap(plan.residency); !overlap) return overlap;
  if (Result<void> moves = check_moves(plan); !moves) return moves;
  return check_capacity(plan);
}

}  // namespace hearth::plan
