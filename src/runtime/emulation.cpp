#include "runtime/emulation.h"

#include <algorithm>

#include "hearth/trace.h"
#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

// The kernel wakes a sleeper about so much too late; the rest of a wait is spent looking at the clock. Short waits,
// which most are, are spent so altogether: to sleep through them would make each longer than it should be.
constexpr std::uint64_t kWakesLate = 100'000;

OpenCharge* innermost_charge() {
  Thread& thread = t_thread;
  if (thread.charges == nullptr || thread.depth == 0 || thread.depth > kChargeDepth) return nullptr;
  return &thread.charges[thread.depth - 1];
}

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

void add(tier::Traffic& traffic, std::uint64_t slow, std::uint64_t fast, std::uint32_t access) {
  if ((access & HEARTH_ACCESS_READ) != 0) {
    traffic.slow_read += slow;
    traffic.fast_read += fast;
  }
  if ((access & HEARTH_ACCESS_WRITE) != 0) {
    traffic.slow_write += slow;
    traffic.fast_write += fast;
  }
}

// What an op announces and hands on to ops inside it is used once.
void count_bytes(std::uint32_t depth) {
  OpenCharge* const charges = t_thread.charges;
  const tier::Traffic& own = charges[depth].traffic;
  const std::uint64_t inner = charges[depth].inner_bytes;
  const std::uint64_t used = std::max(own.slow_bytes(), inner);
  if (depth > 0) charges[depth - 1].inner_bytes += used;
  if (used > inner) g.tiers.slow_bytes_used.fetch_add(used - inner, std::memory_order_relaxed);
}

void wait_until(std::uint64_t due_ns) {
  if (os::monotonic_ns() + 2 * kWakesLate < due_ns) os::sleep_until(due_ns - kWakesLate);
  while (os::monotonic_ns() < due_ns) {
  }
}

}  // namespace

void begin_charge(std::uint32_t depth) {
  Thread& thread = t_thread;
  if (thread.charges == nullptr) {
    thread.charges = static_cast<OpenCharge*>(os::map_zeroed(kChargeDepth * sizeof(OpenCharge)));
    if (thread.charges == nullptr) return;
  }
  if (depth < kChargeDepth) {
    thread.charges[depth] = {};
    thread.charges[depth].begin_ns = os::monotonic_ns();
  }
}

void charge_operand(const void* storage, std::uint64_t storage_bytes, std::uint64_t bytes, std::uint32_t access) {
  OpenCharge* open = innermost_charge();
  if (open == nullptr) return;
  const Shares lies = shares(storage, storage_bytes);
  add(open->traffic, part(lies.slow, bytes), part(lies.fast, bytes), access);
}

void charge_gather(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows, std::uint64_t row_bytes,
                   std::uint32_t access) {
  OpenCharge* open = innermost_charge();
  if (open == nullptr) return;
  const Shares lies = shares(storage, storage_bytes);
  const tier::Machine& machine = g.tiers.machine;
  const auto count = static_cast<double>(rows);
  const auto width = static_cast<double>(row_bytes);
  for (const std::uint32_t kind : {HEARTH_ACCESS_READ, HEARTH_ACCESS_WRITE}) {
    if ((access & kind) == 0) continue;
    const bool write = kind == HEARTH_ACCESS_WRITE;
    open->traffic.slow_gathered += part(lies.slow, rows * row_bytes);
    open->traffic.gather_ns += tier::gather_ns(machine, machine.slow, lies.slow * count, width, write) +
                               tier::gather_ns(machine, machine.fast, lies.fast * count, width, write);
  }
}

void charge_allocated(const void* tensor) {
  OpenCharge* open = innermost_charge();
  if (open != nullptr) open->scratch[open->allocations++ % OpenCharge::kScratch] = tensor;
}

void charge_freed(const void* tensor, std::uint64_t bytes) {
  OpenCharge* open = innermost_charge();
  if (open == nullptr) return;
  for (const void*& known : open->scratch) {
    if (known != tensor) continue;
    known = nullptr;
    charge_operand(tensor, bytes, bytes, HEARTH_ACCESS_READ_WRITE);
    return;
  }
}

void end_charge(std::uint32_t depth) {
  if (depth >= kChargeDepth || t_thread.charges == nullptr) return;
  const OpenCharge& open = t_thread.charges[depth];
  if (open.begin_ns == 0) return;
  count_bytes(depth);
  Tiers& t = g.tiers;
  const auto least = static_cast<std::uint64_t>(tier::traffic_ns(t.machine, open.traffic));
  if (least == 0) return;  // most ops around others have nothing of their own
  const std::uint64_t due = open.begin_ns + least;
  const std::uint64_t now = os::monotonic_ns();
  if (now >= due) return;
  wait_until(due);
  t.charges.fetch_add(1, std::memory_order_relaxed);
  t.charged_ns.fetch_add(due - now, std::memory_order_relaxed);
  t.overshoot_ns.fetch_add(os::monotonic_ns() - due, std::memory_order_relaxed);
}

}  // namespace hearth::runtime
