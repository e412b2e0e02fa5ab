#include "runtime/emulation.h"

#include <algorithm>

#include "hearth/trace.h"
#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

// The kernel wakes a sleeper up to so much too late; the rest of a wait is spent looking at the clock.
constexpr std::uint64_t kWakesLate = 300'000;

OpenCharge* innermost_charge() {
  Thread& thread = t_thread;
  if (thread.charges == nullptr || thread.depth == 0 || thread.depth > kChargeDepth) return nullptr;
  return &thread.charges[thread.depth - 1];
}

// The part of the storage that is slow, 0..1. Where in it a view lies is not told.
double slow_share(const void* storage, std::uint64_t bytes) {
  const tier::Residency residency = g.tiers.pages.of({storage, bytes});
  const std::uint64_t there = residency.fast + residency.slow;
  return there == 0 ? 0 : static_cast<double>(residency.slow) / static_cast<double>(there);
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
  const std::uint64_t used = std::max(own.slow_read + own.slow_write + own.slow_gathered, inner);
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
  if (depth < kChargeDepth) thread.charges[depth] = {os::monotonic_ns(), {}, 0};
}

void charge_operand(const void* storage, std::uint64_t storage_bytes, std::uint64_t bytes, std::uint32_t access) {
  OpenCharge* open = innermost_charge();
  if (open == nullptr) return;
  const auto slow = static_cast<std::uint64_t>(slow_share(storage, storage_bytes) * static_cast<double>(bytes));
  add(open->traffic, slow, bytes - slow, access);
}

void charge_gather(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows, std::uint64_t row_bytes,
                   std::uint32_t access) {
  OpenCharge* open = innermost_charge();
  if (open == nullptr) return;
  const double slow_rows = slow_share(storage, storage_bytes) * static_cast<double>(rows);
  const auto width = static_cast<double>(row_bytes);
  for (const std::uint32_t kind : {HEARTH_ACCESS_READ, HEARTH_ACCESS_WRITE}) {
    if ((access & kind) == 0) continue;
    open->traffic.slow_gathered += static_cast<std::uint64_t>(slow_rows * width);
    open->traffic.gather_ns += tier::gather_ns(g.tiers.machine, slow_rows, width, kind == HEARTH_ACCESS_WRITE);
    add(open->traffic, 0, static_cast<std::uint64_t>((static_cast<double>(rows) - slow_rows) * width), kind);
  }
}

void end_charge(std::uint32_t depth) {
  if (depth >= kChargeDepth || t_thread.charges == nullptr) return;
  const OpenCharge& open = t_thread.charges[depth];
  if (open.begin_ns == 0) return;
  count_bytes(depth);
  if (!open.traffic.touches_slow()) return;
  Tiers& t = g.tiers;
  const std::uint64_t due = open.begin_ns + static_cast<std::uint64_t>(tier::traffic_ns(t.machine, open.traffic));
  const std::uint64_t now = os::monotonic_ns();
  if (now >= due) return;
  wait_until(due);
  t.charges.fetch_add(1, std::memory_order_relaxed);
  t.charged_ns.fetch_add(due - now, std::memory_order_relaxed);
  t.overshoot_ns.fetch_add(os::monotonic_ns() - due, std::memory_order_relaxed);
}

}  // namespace hearth::runtime
