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

std::uint64_t bytes_of(const Plan& plan, const Stretch& stretch) {
  switch (stretch.of) {
    case Stretch::Of::arena:
      return plan.arenas[stretch.index].bytes;
    case Stretch::Of::entry:
      return plan.entries[stretch.index].bytes;
    case Stretch::Of::resident:
      return plan.residency.residents[stretch.index].bytes;
  }
  return 0;
}

Result<void> check_stretch(const Plan& plan, std::size_t index) {
  const Stretch& stretch = plan.residency.stretches[index];
  const std::size_t count = stretch.of == Stretch::Of::arena   ? plan.arenas.size()
                            : stretch.of == Stretch::Of::entry ? plan.entries.size()
                                                               : plan.residency.residents.size();
  if (stretch.index >= count) return refuse(index, "lies in what is not there");
  const std::uint64_t whole = bytes_of(plan, stretch);
  if (stretch.bytes == 0) return refuse(index, "is empty");
  if (stretch.offset > whole || stretch.bytes > whole - stretch.offset) return refuse(index, "ends outside");
  if (stretch.offset % kPage != 0) return refuse(index, "does not begin at a page");
  const bool to_the_end = stretch.of != Stretch::Of::arena && stretch.offset + stretch.bytes == whole;
  if (stretch.bytes % kPage != 0 && !to_the_end) return refuse(index, "is no whole number of pages");
  if (stretch.begin == Tier::none) return refuse(index, "begins on no tier");
  if (stretch.of != Stretch::Of::entry) return {};
  const Entry& entry = plan.entries[stretch.index];
  if (entry.arena == kHeap || plan.arenas[entry.arena].home != Home::own) {
    return refuse(index, "is of an entry that has no pages of its own");
  }
  if (index != 0) {
    const Stretch& before = plan.residency.stretches[index - 1];
    if (before.of == Stretch::Of::entry && before.index > stretch.index) return refuse(index, "is out of order");
  }
  return {};
}

// Pages of its own are nobody else's while it lives: whole ones, from a page's begin.
Result<void> check_own_pages(const Plan& plan) {
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Entry& entry = plan.entries[i];
    if (entry.arena == kHeap || plan.arenas[entry.arena].home != Home::own) continue;
    if (entry.offset % kPage != 0) return Error{"entry " + text(i) + " is to have own pages and begins within one"};
  }
  return {};
}

Result<void> check_overlap(const Residency& residency) {
  std::vector<std::size_t> order(residency.stretches.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t i) {
    const Stretch& s = residency.stretches[i];
    return std::tuple(s.of, s.index, s.offset);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Stretch& before = residency.stretches[order[i - 1]];
    const Stretch& here = residency.stretches[order[i]];
    const bool same = before.of == here.of && before.index == here.index;
    if (same && before.offset + before.bytes > here.offset) return refuse(order[i], "overlaps another");
  }
  return {};
}

// Each stretch changes tier with each of its moves. One that is there all the time ends where it began; one of an entry
// goes through its moves from its birth on, which may take it into the next iteration.
Result<void> check_moves(const Plan& plan) {
  const Residency& residency = plan.residency;
  if (!residency.births.empty() && residency.births.size() != plan.entries.size()) {
    return Error{"its residency tells the births of " + text(residency.births.size()) + " entries, there are " +
                 text(plan.entries.size())};
  }
  if (!std::is_sorted(residency.births.begin(), residency.births.end())) {
    return Error{"the births of its residency are out of order"};
  }
  std::vector<std::vector<std::size_t>> moves_of(residency.stretches.size());
  for (std::size_t i = 0; i < residency.moves.size(); ++i) {
    const Move& move = residency.moves[i];
    const std::string which = "move " + text(i) + " of its residency ";
    if (move.stretch >= residency.stretches.size()) return Error{which + "moves what is not there"};
    if (move.at > move.due || move.due > residency.ops) return Error{which + "is due before it is asked for"};
    if (i != 0 && residency.moves[i - 1].at > move.at) return Error{which + "is out of order"};
    if (move.to == Tier::none) return Error{which + "goes nowhere"};
    if (move.clean && move.to != Tier::slow) return Error{which + "drops a copy by fetching it"};
    moves_of[move.stretch].push_back(i);
  }
  for (std::size_t s = 0; s < moves_of.size(); ++s) {
    const Stretch& stretch = residency.stretches[s];
    std::vector<std::size_t>& moves = moves_of[s];
    if (moves.empty()) continue;
    if (stretch.of == Stretch::Of::entry) {
      if (residency.births.empty()) return refuse(s, "moves, and its births are not told");
      const std::uint32_t birth = residency.births[stretch.index];
      const auto next = std::partition_point(moves.begin(), moves.end(),
                                             [&](std::size_t i) { return residency.moves[i].at < birth; });
      std::rotate(moves.begin(), next, moves.end());
    }
    Tier now = stretch.begin;
    for (const std::size_t i : moves) {
      if (residency.moves[i].to == now) {
        return Error{"move " + text(i) + " of its residency goes where its stretch is"};
      }
      now = residency.moves[i].to;
    }
    if (stretch.of != Stretch::Of::entry && now != stretch.begin) return refuse(s, "does not end where it began");
  }
  return {};
}

// What is fast all the time. Moves find their room at run time, where nothing becomes fast without a claim.
Result<void> check_capacity(const Plan& plan) {
  std::uint64_t fast = 0;
  for (const Arena& arena : plan.arenas) fast += arena.home == Home::fast ? arena.bytes : 0;
  for (const Stretch& stretch : plan.residency.stretches) {
    const bool of_fast = stretch.of == Stretch::Of::arena && plan.arenas[stretch.index].home == Home::fast;
    if (of_fast && stretch.begin == Tier::slow) fast -= stretch.bytes;
  }
  if (fast <= plan.residency.fast_capacity) return {};
  return Error{"its arenas lay " + text(fast) + " bytes fast at once, " + text(plan.residency.fast_capacity) +
               " are allowed"};
}

// It is told, not followed; but what it tells of is there.
Result<void> check_account(const Residency& residency) {
  for (const TensorAccount& tensor : residency.account.tensors) {
    const std::uint64_t end = std::uint64_t{tensor.first_stretch} + tensor.stretches;
    if (end > residency.stretches.size())
      return Error{"the account of its residency tells of stretches that are not there"};
    for (const Window& window : tensor.stake.windows) {
      if (window.from < window.to && window.to <= residency.ops) continue;
      return Error{"the account of its residency tells of ops that are not there"};
    }
  }
  return {};
}

}  // namespace

Result<void> validate_residency(const Plan& plan) {
  if (!plan.residency.present()) return {};
  for (std::size_t i = 0; i < plan.residency.stretches.size(); ++i) {
    if (Result<void> stretch = check_stretch(plan, i); !stretch) return stretch;
  }
  if (Result<void> overlap = check_overlap(plan.residency); !overlap) return overlap;
  if (Result<void> own = check_own_pages(plan); !own) return own;
  if (Result<void> moves = check_moves(plan); !moves) return moves;
  if (Result<void> account = check_account(plan.residency); !account) return account;
  return check_capacity(plan);
}

}  // namespace hearth::plan
