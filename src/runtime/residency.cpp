#include "runtime/residency.h"

#include <algorithm>

#include "base/log.h"
#include "plan/sequence.h"
#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "runtime/state.h"
#include "runtime/tiers.h"

namespace hearth::runtime {
namespace {

using plan::Move;
using plan::Stretch;
using tier::Extent;
using tier::Tier;

constexpr std::uint64_t kPage = tier::Pages::kPage;
constexpr std::uint64_t kSettleNs = 60'000'000'000;
constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // the program is not held up longer by one move

// A live tensor on pages of its own.
struct Live {
  std::uint64_t bytes;
  std::uint32_t serial;
  std::uintptr_t address;
  bool named;  // by the plan, which says where it lies
};

struct Table {
  explicit Table(std::uint64_t bytes_) : bytes(bytes_), memory(os::reserve(bytes_, os::page_size())) {
    if (memory != nullptr && os::commit(memory, bytes) != 0) memory = nullptr;
  }
  ~Table() {
    if (memory != nullptr) os::unmap(memory, bytes);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  std::uint64_t bytes;
  void* memory;
};

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// By size, and within a size in order of birth: as a resident is named. The number of them.
std::uint32_t list_live(Live* live, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 1; i < limit; ++i) {
    const registry::Tensor& tensor = g.registry.at(TensorSlot{i});
    const auto address = tensor.address.load(std::memory_order_acquire);
    if (tensor.own_pages && address != 0) live[count++] = {tensor.bytes, tensor.serial.value, address, false};
  }
  std::sort(live, live + count,
            [](const Live& a, const Live& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : a.serial < b.serial; });
  return count;
}

Live* find(Live* live, std::uint32_t count, const plan::Resident& resident) {
  Live* first = std::partition_point(live, live + count, [&](const Live& l) { return l.bytes < resident.bytes; });
  Live* wanted = first + resident.nth;
  return wanted < live + count && wanted->bytes == resident.bytes ? wanted : nullptr;
}

template <class Row>
bool map_rows(Row*& rows, std::uint64_t count) {
  rows = static_cast<Row*>(os::map_zeroed(rounded(count * sizeof(Row))));
  return rows != nullptr;
}

// Memory for the tables, enough for the largest plan so far.
bool make_room(const plan::Sequence& sequence) {
  Residence& r = g.residence;
  const plan::Residency& plan = sequence.plan.residency;
  const std::uint64_t wanted = std::max({plan.stretches.size(), plan.moves.size(), sequence.sizes.size()}) + 1;
  if (wanted <= r.allocated) return true;
  const std::uint64_t count = wanted + wanted / 2;
  const bool mapped = map_rows(r.stretches, count) && map_rows(r.last, count) && map_rows(r.last_fetch, count) &&
                      map_rows(r.tickets, count) && map_rows(r.by_due, count) && map_rows(r.first_stretch, count);
  r.allocated = mapped ? count : 0;
  return mapped;
}

// Where the stretches lie.
void find_stretches(const plan::Sequence& sequence, Live* live, std::uint32_t count) {
  Residence& r = g.residence;
  const plan::Residency& plan = sequence.plan.residency;
  const auto base = reinterpret_cast<std::uintptr_t>(g.managed.arena.load(std::memory_order_relaxed)->begin());
  std::fill_n(r.first_stretch, sequence.sizes.size(), Residence::kNever);
  std::fill_n(r.last, plan.stretches.size(), migrate::Ticket{});
  std::fill_n(r.last_fetch, plan.stretches.size(), Residence::kNever);
  std::fill_n(r.tickets, plan.moves.size(), migrate::Ticket{});
  r.missing = 0;
  for (std::uint32_t i = 0; i < plan.stretches.size(); ++i) {
    const Stretch& stretch = plan.stretches[i];
    r.stretches[i] = {};
    if (stretch.of == Stretch::Of::resident) {
      Live* found = find(live, count, plan.residents[stretch.index]);
      if (found == nullptr) {
        ++r.missing;
        continue;
      }
      found->named = true;
      const std::uintptr_t begin = found->address + stretch.offset;
      r.stretches[i] = tier::extent(begin, begin + rounded(stretch.bytes));
      continue;
    }
    std::uint64_t offset = 0;
    if (stretch.of == Stretch::Of::arena) {
      offset = sequence.bases[stretch.index];
    } else {
      offset = sequence.places[stretch.index].offset;
      if (r.first_stretch[stretch.index] == Residence::kNever) r.first_stretch[stretch.index] = i;
    }
    const std::uintptr_t begin = base + offset + stretch.offset;
    r.stretches[i] = tier::extent(begin, begin + rounded(stretch.bytes));
  }
}

void order_by_due(const plan::Residency& plan) {
  Residence& r = g.residence;
  const auto count = static_cast<std::uint32_t>(plan.moves.size());
  for (std::uint32_t i = 0; i < count; ++i) r.by_due[i] = i;
  std::sort(r.by_due, r.by_due + count, [&](std::uint32_t a, std::uint32_t b) {
    return plan.moves[a].due != plan.moves[b].due ? plan.moves[a].due < plan.moves[b].due : a < b;
  });
}

// The pages lie there, or will: those that lie nowhere at once, the others when the movers get to them.
void bring(Extent pages, Tier tier) {
  if (pages.bytes == 0) return;
  settle_pages(pages, tier);
  const tier::Residency residency = g.tiers.pages.of(pages);
  if ((tier == Tier::fast ? residency.slow : residency.fast) == 0) return;
  migrate::Migrator& movers = g.tiers.migrator;
  while (!movers.post({.pages = pages, .to = tier}) && movers.ready()) movers.drain(kSettleNs);  // the queue was full
}

void wait_for_all() {
  if (!g.tiers.migrator.drain(kSettleNs)) log::warn("tensors are still on their way to their tiers after a minute");
}

// First what leaves the fast tier, then the rest: what the plan does not name lies fast. Entries with pages of their
// own find their place when they are born.
void bring_home(const plan::Sequence& sequence, const Live* live, std::uint32_t count, bool patient) {
  const Residence& r = g.residence;
  const plan::Plan& plan = sequence.plan;
  const auto base = reinterpret_cast<std::uintptr_t>(g.managed.arena.load(std::memory_order_relaxed)->begin());
  const auto bring_all = [&](Tier tier) {
    for (std::size_t i = 0; i < plan.residency.stretches.size(); ++i) {
      const Stretch& stretch = plan.residency.stretches[i];
      if (stretch.of != Stretch::Of::entry && stretch.begin == tier) bring(r.stretches[i], tier);
    }
  };
  bring_all(Tier::slow);
  if (patient) wait_for_all();
  for (std::size_t i = 0; i < plan.arenas.size(); ++i) {
    const std::uintptr_t begin = base + sequence.bases[i];
    if (plan.arenas[i].home == plan::Home::fast) bring(tier::extent(begin, begin + plan.arenas[i].bytes), Tier::fast);
  }
  bring_all(Tier::fast);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!live[i].named) bring(tier::extent(live[i].address, live[i].address + rounded(live[i].bytes)), Tier::fast);
  }
  if (patient) wait_for_all();
}

void set_next_at() {
  Residence& r = g.residence;
  const plan::Residency& plan = *r.plan;
  r.next_at = Residence::kNever;
  if (r.next < plan.moves.size()) r.next_at = plan.moves[r.next].at;
  if (r.next_due < plan.moves.size()) r.next_at = std::min(r.next_at, plan.moves[r.by_due[r.next_due]].due);
}

void begin_iteration() {
  g.residence.next = 0;
  g.residence.next_due = 0;
  g.residence.clock = 0;
  set_next_at();
}

// Nothing is tried before the plan itself has been, nor for rival policies.
bool worth_waiting(std::uint32_t fetch, std::uint64_t now_ns) {
  const bool may_try = g.trials.stage == Trials::Stage::done && g.knobs.policy == config::PolicyName::sentinel;
  return g.waits.late(fetch, now_ns, may_try);
}

// The move's time is up. Late ones are counted; some are worth waiting for (Sentinel, HPCA 2021, section 4: case 3).
void look_at(std::uint32_t index) {
  Residence& r = g.residence;
  const migrate::Ticket ticket = r.tickets[index];
  migrate::Migrator& movers = g.tiers.migrator;
  if (!ticket || movers.outcome(ticket) != migrate::Outcome::pending) return;
  ++r.late;
  const std::uint64_t begin = os::monotonic_ns();
  g.lateness.overdue(index, begin);
  const Move& move = r.plan->moves[index];
  if (!move.wait && (move.to != Tier::fast || !worth_waiting(index, begin))) return;
  movers.wait(ticket, kPatienceNs);
  r.waited_ns += os::monotonic_ns() - begin;
}

}  // namespace

void settle_residency(const plan::Sequence& sequence, bool patient) {
  Residence& r = g.residence;
  leave_residency();
  const plan::Residency& plan = sequence.plan.residency;
  if (!g.tiers.on || !plan.present() || !make_room(sequence) || !g.lateness.begin(plan.moves.size()) ||
      !g.waits.begin(plan.moves.size())) {
    return;
  }
  if (g.tiers.pages.capacity() == tier::Pages::kUnlimited) g.tiers.pages.set_capacity(plan.fast_capacity);
  const std::uint32_t limit = g.registry.slot_limit();
  const Table table((std::uint64_t{limit} + 1) * sizeof(Live));
  if (table.memory == nullptr) return;
  auto* live = static_cast<Live*>(table.memory);
  const std::uint32_t count = list_live(live, limit);
  find_stretches(sequence, live, count);
  if (r.missing != 0) {
    log::info(r.missing, " tensors that the plan places are not there; the others lie as planned");
  }
  order_by_due(plan);
  bring_home(sequence, live, count, patient);
  r.plan = &plan;
  begin_iteration();
  if (!patient) return;
  log::info("residency by ", plan.policy.c_str(), ": a step of ", plan.prediction.step_ns / 1000, " us foreseen, ",
            plan.prediction.all_fast_ns / 1000, " all fast, ", plan.prediction.all_slow_ns / 1000, " all slow; ",
            plan.prediction.fast_peak >> 10, " KiB fast, ", g.tiers.pages.fast_bytes() >> 10, " KiB now");
}

void leave_residency() {
  Residence& r = g.residence;
  for (std::size_t i = 0; r.plan != nullptr && i < r.plan->stretches.size(); ++i) {
    if (r.last[i]) g.tiers.migrator.cancel(r.last[i]);
  }
  r.plan = nullptr;
  r.next_at = Residence::kNever;
}

void residency_due() {
  Residence& r = g.residence;
  const plan::Residency& plan = *r.plan;
  const std::uint64_t now = os::monotonic_ns();
  for (; r.next < plan.moves.size() && plan.moves[r.next].at <= r.clock; ++r.next) {
    const Move& move = plan.moves[r.next];
    const Extent pages = r.stretches[move.stretch];
    if (pages.bytes == 0) continue;
    // What was asked for before and is not over is not worth it any more.
    if (r.last[move.stretch]) g.tiers.migrator.cancel(r.last[move.stretch]);
    r.tickets[r.next] = g.tiers.migrator.post({.pages = pages,
                                               .to = move.to,
                                               .deadline_ns = now + move.ns,
                                               .clean = move.clean,
                                               .over_ns = g.lateness.asked(r.next, now)});
    r.last[move.stretch] = r.tickets[r.next];
    if (move.to == Tier::fast) {
      r.last_fetch[move.stretch] = r.next;
    } else if (r.last_fetch[move.stretch] != Residence::kNever) {
      g.waits.used(r.last_fetch[move.stretch], now);
    }
    ++r.asked;
  }
  for (; r.next_due < plan.moves.size() && plan.moves[r.by_due[r.next_due]].due <= r.clock; ++r.next_due) {
    look_at(r.by_due[r.next_due]);
  }
  set_next_at();
}

void residency_op_ended() {
  Residence& r = g.residence;
  if (++r.clock >= r.next_at) residency_due();
}

void residency_comes_to(std::uint32_t entry) {
  Residence& r = g.residence;
  if (r.plan->births.empty()) return;
  r.clock = r.plan->births[entry];
  if (r.clock >= r.next_at) residency_due();
}

void residency_born(std::uint32_t entry) {
  const Residence& r = g.residence;
  const std::vector<Stretch>& stretches = r.plan->stretches;
  for (std::uint32_t i = r.first_stretch[entry]; i < stretches.size(); ++i) {
    if (stretches[i].of != Stretch::Of::entry || stretches[i].index != entry) break;
    g.tiers.pages.set_own(r.stretches[i]);
    settle_pages(r.stretches[i], stretches[i].begin);
  }
}

void residency_freed(const arena::PackedArena& arena, const void* pointer) {
  Tiers& t = g.tiers;
  if (!t.pages.own(pointer)) return;
  const arena::PackedArena::Begun begun = arena.begun_at(pointer);
  if (begun.bytes == 0) return;
  const Residence& r = g.residence;
  const bool ours = g.managed.owner.load(std::memory_order_relaxed) == t_thread.number && r.plan != nullptr &&
                    begun.entry != arena::PackedArena::kNone &&
                    &arena == g.managed.arena.load(std::memory_order_relaxed);
  if (ours && r.first_stretch[begun.entry] != Residence::kNever) {
    // What still waits to be moved of it must not move the next tensor there.
    const std::vector<Stretch>& stretches = r.plan->stretches;
    for (std::uint32_t i = r.first_stretch[begun.entry]; i < stretches.size(); ++i) {
      if (stretches[i].of != Stretch::Of::entry || stretches[i].index != begun.entry) break;
      if (r.last[i]) t.migrator.cancel(r.last[i]);
    }
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  const Extent pages = tier::extent(begin, begin + rounded(begun.bytes));
  t.backend->forget(pages);
  t.pages.vacate(pages);
}

void residency_iteration_closed() {
  Residence& r = g.residence;
  if (r.plan == nullptr) return;
  r.clock = Residence::kNever - 1;
  if (r.clock >= r.next_at) residency_due();
  g.lateness.iteration_closed();
  g.waits.iteration_closed();
  begin_iteration();
}

}  // namespace hearth::runtime
