#include "policy/schedule_of.h"

#include <algorithm>

namespace hearth::policy {
namespace {

using simulate::Move;
using simulate::Workload;
using tier::Tier;

Move move_of(const Workload& workload, const Grid& grid, const Transfer& transfer, std::uint32_t piece) {
  const std::uint32_t slots = grid.count();
  const auto end = static_cast<std::uint32_t>(workload.ops.size());
  Range when = transfer.slots;
  const std::uint32_t later = when.from / slots * slots;
  if (when.to > later) when = {when.from - later, when.to - later};
  Move move;
  move.piece = piece;
  move.to = transfer.lane == kToFast ? Tier::fast : Tier::slow;
  move.at = when.from >= slots ? end : grid.op_at(when.from);
  move.due = when.to >= slots ? end : grid.op_at(when.to);
  // What ends in the middle of an op is over when the next begins.
  if (when.to < slots && grid.slot_of(move.due) < when.to) ++move.due;
  move.due = std::max(move.at, move.due);
  const std::uint32_t until = when.to >= slots ? slots : when.to;
  move.clean = transfer.clean;
  if (transfer.clean) {
    // At once, which is when the movers come to it.
    const std::uint32_t slot = std::min(when.from, slots - 1);
    move.due = std::min(move.at + 1, end);
    move.ns = grid.ns(slot);
    return move;
  }
  move.ns = std::max(0.0, grid.begin_ns(until) - grid.begin_ns(std::min(when.from, until)));
  return move;
}

}  // namespace

simulate::Schedule schedule_of(const Workload& workload, const Grid& grid, const Parts& parts, const Chosen& chosen,
                               double capacity) {
  simulate::Schedule schedule;
  schedule.capacity = capacity;
  schedule.pool = chosen.pool;
  for (std::uint32_t p = 0; p < parts.parts.size(); ++p) {
    const Part& part = parts.parts[p];
    const Placement& placement = chosen.placements[p];
    simulate::Piece piece{part.object, part.share, part.bytes, placement.slow() ? Tier::slow : Tier::fast,
                          placement.pooled};
    std::vector<Move> moves;
    for (const Transfer& transfer : placement.transfers) moves.push_back(move_of(workload, grid, transfer, p));
    std::stable_sort(moves.begin(), moves.end(),
                     [](const Move& a, const Move& b) { return a.at != b.at ? a.at < b.at : a.due < b.due; });
    // Alive all the time, it begins where it ended; else where it is born.
    if (part.resident && !moves.empty()) piece.begin = moves.back().to;
    if (!part.resident && !placement.pooled) piece.begin = placement.born_fast ? Tier::fast : Tier::slow;
    schedule.pieces.push_back(piece);
    schedule.moves.insert(schedule.moves.end(), moves.begin(), moves.end());
  }
  // Room is made before it is taken.
  std::stable_sort(schedule.moves.begin(), schedule.moves.end(), [](const Move& a, const Move& b) {
    return a.at != b.at ? a.at < b.at : (a.to == Tier::slow) > (b.to == Tier::slow);
  });
  return schedule;
}

}  // namespace hearth::policy
