#include "runtime/lateness.h"

#include <algorithm>

#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

template <class Row>
bool map_rows(Row*& rows, std::uint64_t count) {
  const std::uint64_t page = os::page_size();
  rows = static_cast<Row*>(os::map_zeroed((count * sizeof(Row) + page - 1) / page * page));
  return rows != nullptr;
}

void add(std::atomic<std::uint64_t>& to, std::uint64_t more) {
  to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

// It went on until then.
void close(std::uint32_t move, std::uint64_t until_ns) {
  Lateness& l = g.lateness;
  const std::uint64_t by = until_ns - std::min(until_ns, l.overdue_ns[move]);
  report::Punctuality& of = l.moves[move];
  add(of.late_ns, by);
  if (by > of.latest_ns.load(std::memory_order_relaxed)) of.latest_ns.store(by, std::memory_order_relaxed);
  l.late_ns += by;
  l.overdue_ns[move] = 0;
  --l.open;
}

// When the request that was found late ended; 0 if it has not. An end before that is of an earlier request.
std::uint64_t end_of(std::uint32_t move) {
  const Lateness& l = g.lateness;
  const std::uint64_t over = l.over_ns[move].load(std::memory_order_relaxed);
  return over >= l.overdue_ns[move] ? over : 0;
}

}  // namespace

// The tables of former plans stay: a mover may still write to them.
bool lateness_begins(std::uint64_t moves) {
  Lateness& l = g.lateness;
  l.count = 0;
  if (moves > l.rows || l.moves == nullptr) {
    const std::uint64_t rows = moves + moves / 2 + 1;
    l.rows = 0;
    if (!map_rows(l.over_ns, rows) || !map_rows(l.overdue_ns, rows) || !map_rows(l.moves, rows)) return false;
    l.rows = rows;
  }
  l.count = static_cast<std::uint32_t>(moves);
  l.open = 0;
  std::fill_n(l.overdue_ns, moves, std::uint64_t{0});
  lateness_restarts();
  return true;
}

void lateness_restarts() {
  const Lateness& l = g.lateness;
  for (std::uint32_t i = 0; i < l.count; ++i) {
    for (auto* figure : {&l.moves[i].asked, &l.moves[i].late, &l.moves[i].late_ns, &l.moves[i].latest_ns}) {
      figure->store(0, std::memory_order_relaxed);
    }
  }
}

std::atomic<std::uint64_t>* lateness_asked(std::uint32_t move) {
  Lateness& l = g.lateness;
  if (l.overdue_ns[move] != 0) {
    const std::uint64_t over = end_of(move);
    close(move, over != 0 ? over : os::monotonic_ns());
  }
  l.over_ns[move].store(0, std::memory_order_relaxed);
  add(l.moves[move].asked, 1);
  return &l.over_ns[move];
}

void lateness_overdue(std::uint32_t move, std::uint64_t now_ns) {
  Lateness& l = g.lateness;
  if (l.overdue_ns[move] != 0) return;
  l.overdue_ns[move] = now_ns;
  ++l.open;
  add(l.moves[move].late, 1);
}

void lateness_iteration_closed() {
  const Lateness& l = g.lateness;
  for (std::uint32_t i = 0; i < l.count && l.open != 0; ++i) {
    if (l.overdue_ns[i] == 0) continue;
    if (const std::uint64_t over = end_of(i); over != 0) close(i, over);
  }
}

}  // namespace hearth::runtime
