#include "runtime/lateness.h"

#include <algorithm>

#include "platform/os_memory.h"

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

}  // namespace

bool Lateness::begin(std::uint64_t moves) {
  count_ = 0;
  if (moves > rows_ || moves_ == nullptr) {
    const std::uint64_t rows = moves + moves / 2 + 1;
    rows_ = 0;
    if (!map_rows(over_ns_, rows) || !map_rows(overdue_ns_, rows) || !map_rows(moves_, rows)) return false;
    rows_ = rows;
  }
  count_ = static_cast<std::uint32_t>(moves);
  open_ = 0;
  std::fill_n(overdue_ns_, moves, std::uint64_t{0});
  restart();
  return true;
}

void Lateness::restart() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    for (auto* figure : {&moves_[i].asked, &moves_[i].late, &moves_[i].late_ns, &moves_[i].latest_ns}) {
      figure->store(0, std::memory_order_relaxed);
    }
  }
}

std::atomic<std::uint64_t>* Lateness::asked(std::uint32_t move, std::uint64_t now_ns) {
  if (overdue_ns_[move] != 0) {
    const std::uint64_t over = end_of(move);
    close(move, over != 0 ? over : now_ns);
  }
  over_ns_[move].store(0, std::memory_order_relaxed);
  add(moves_[move].asked, 1);
  return &over_ns_[move];
}

void Lateness::overdue(std::uint32_t move, std::uint64_t now_ns) {
  if (overdue_ns_[move] != 0) return;
  overdue_ns_[move] = now_ns;
  ++open_;
  add(moves_[move].late, 1);
}

void Lateness::iteration_closed() {
  for (std::uint32_t i = 0; i < count_ && open_ != 0; ++i) {
    if (overdue_ns_[i] == 0) continue;
    if (const std::uint64_t over = end_of(i); over != 0) close(i, over);
  }
}

// When the request that was found late ended; 0 if it has not. An end before that is of an earlier request.
std::uint64_t Lateness::end_of(std::uint32_t move) const {
  const std::uint64_t over = over_ns_[move].load(std::memory_order_relaxed);
  return over >= overdue_ns_[move] ? over : 0;
}

// It went on until then.
void Lateness::close(std::uint32_t move, std::uint64_t until_ns) {
  const std::uint64_t by = until_ns - std::min(until_ns, overdue_ns_[move]);
  report::Punctuality& of = moves_[move];
  add(of.late_ns, by);
  if (by > of.latest_ns.load(std::memory_order_relaxed)) of.latest_ns.store(by, std::memory_order_relaxed);
  late_ns_ += by;
  overdue_ns_[move] = 0;
  --open_;
}

}  // namespace hearth::runtime
