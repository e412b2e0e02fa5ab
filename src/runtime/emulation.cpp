#include "runtime/emulation.h"

#include <algorithm>

#include "hearth/trace.h"
#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"
#include "runtime/charges.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

// The kernel wakes a sleeper about so much too late; the rest of a wait is spent looking at the clock. Short waits,
// which most are, are spent so altogether: to sleep through them would make each longer than it should be.
constexpr std::uint64_t kWakesLate = 100'000;

bool inside_op() { return t_thread.charges != nullptr && t_thread.depth > 0; }
std::uint32_t innermost() { return t_thread.depth - 1; }

// The parts of the storage that lie on either tier, together 0..1. Where in it a view lies is not told.
struct Shares {
  double fast = 0, slow = 0;
};

Shares shares(const void* storage, std::uint64_t bytes) {
  const tier::Residency residency = g.tiers.pages.of({storage, bytes});
  const auto all = static_cast<double>(residency.total());
  if (all == 0) return {};
  return {static_cast<double>(residency.fast) / all, static_cast<double>(residency.slow) / all};
}

std::uint64_t part(double share, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

tier::Traffic traffic_of(const Shares& lies, std::uint64_t bytes, std::uint32_t access) {
  const std::uint64_t slow = part(lies.slow, bytes);
  const std::uint64_t fast = part(lies.fast, bytes);
  tier::Traffic traffic;
  if ((access & HEARTH_ACCESS_READ) != 0) {
    traffic.slow_read = slow;
    traffic.fast_read = fast;
  }
  if ((access & HEARTH_ACCESS_WRITE) != 0) {
    traffic.slow_write = slow;
    traffic.fast_write = fast;
  }
  return traffic;
}

void wait_until(std::uint64_t due_ns) {
  if (os::monotonic_ns() + 2 * kWakesLate < due_ns) os::sleep_until(due_ns - kWakesLate);
  while (os::monotonic_ns() < due_ns) {
  }
}

// What the moves make it longer by that were under way from its begin until `end_ns`.
std::uint64_t interference(const Charges::Bill& bill, std::uint64_t own_ns, std::uint64_t end_ns) {
  const std::uint64_t moved = g.tiers.emulated.busy_ns(end_ns);
  if (moved <= bill.moved_ns || end_ns <= bill.begin_ns) return 0;
  const double lanes = static_cast<double>(moved - bill.moved_ns) / static_cast<double>(end_ns - bill.begin_ns);
  return static_cast<std::uint64_t>(
      tier::interference_ns(g.tiers.machine, static_cast<double>(own_ns), std::min(lanes, 2.0)));
}

}  // namespace

void begin_charge(std::uint32_t depth) {
  Thread& thread = t_thread;
  if (thread.charges == nullptr) {
    thread.charges = static_cast<Charges*>(os::map_zeroed(sizeof(Charges)));
    if (thread.charges == nullptr) return;
  }
  const std::uint64_t now = os::monotonic_ns();
  thread.charges->begin(depth, now, g.tiers.emulated.busy_ns(now));
}

void charge_operand(const void* storage, std::uint64_t storage_bytes, std::uint64_t bytes, std::uint32_t access) {
  if (!inside_op()) return;
  t_thread.charges->operand(innermost(), storage, traffic_of(shares(storage, storage_bytes), bytes, access));
}

void charge_gather(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows, std::uint64_t row_bytes,
                   std::uint32_t access) {
  if (!inside_op()) return;
  const Shares lies = shares(storage, storage_bytes);
  const tier::Machine& machine = g.tiers.machine;
  const auto count = static_cast<double>(rows);
  const auto width = static_cast<double>(row_bytes);
  tier::Traffic traffic;
  for (const std::uint32_t kind : {HEARTH_ACCESS_READ, HEARTH_ACCESS_WRITE}) {
    if ((access & kind) == 0) continue;
    const bool write = kind == HEARTH_ACCESS_WRITE;
    traffic.slow_gathered += part(lies.slow, rows * row_bytes);
    traffic.gather_ns += tier::gather_ns(machine, machine.slow, lies.slow * count, width, write) +
                         tier::gather_ns(machine, machine.fast, lies.fast * count, width, write);
  }
  t_thread.charges->operand(innermost(), storage, traffic);
}

void charge_allocated(const void* tensor) {
  if (inside_op()) t_thread.charges->allocated(innermost(), tensor);
}

void charge_freed(const void* tensor, std::uint64_t bytes) {
  if (!inside_op() || !t_thread.charges->is_scratch(innermost(), tensor)) return;
  t_thread.charges->scratch(innermost(), traffic_of(shares(tensor, bytes), bytes, HEARTH_ACCESS_READ_WRITE));
}

void end_charge(std::uint32_t depth) {
  if (t_thread.charges == nullptr) return;
  const Charges::Bill bill = t_thread.charges->end(depth);
  if (bill.begin_ns == 0) return;
  Tiers& t = g.tiers;
  const std::uint64_t slow_bytes = bill.traffic.slow_bytes();
  if (slow_bytes != 0) t.slow_bytes_used.fetch_add(slow_bytes, std::memory_order_relaxed);
  const auto own_ns = static_cast<std::uint64_t>(tier::traffic_ns(t.machine, bill.traffic));
  std::uint64_t due = bill.begin_ns + bill.inner_ns + own_ns;
  std::uint64_t now = os::monotonic_ns();
  if (own_ns != 0 && now < due) {
    wait_until(due);
    due += interference(bill, own_ns, due);
    wait_until(due);
    t.charges.fetch_add(1, std::memory_order_relaxed);
    t.charged_ns.fetch_add(due - now, std::memory_order_relaxed);
    now = os::monotonic_ns();
    t.overshoot_ns.fetch_add(now - due, std::memory_order_relaxed);
  }
  t_thread.charges->ended(depth, now);
}

}  // namespace hearth::runtime
