#include "runtime/tier_facts.h"

#include <algorithm>

#include "runtime/state.h"

namespace hearth::runtime {
namespace {

const char* policy_name(config::PolicyName policy) {
  switch (policy) {
    case config::PolicyName::first_touch:
      return "first-touch";
    case config::PolicyName::interleave:
      return "interleave";
    case config::PolicyName::all_fast:
      return "all-fast";
    case config::PolicyName::all_slow:
      return "all-slow";
  }
  return "";
}

// Where the kernel has the pages of live tensors, against the books; some of very many. An emulated tier has only its
// books.
void check_residency(report::TierFacts& tiers) {
  constexpr std::uint64_t kPage = tier::Pages::kPage;
  constexpr std::uint64_t kAtMost = 16384;  // pages
  if (g.tiers.emulating) return;
  const std::uint32_t limit = g.registry.slot_limit();
  for (std::uint32_t i = 1; i < limit && tiers.pages_checked < kAtMost; ++i) {
    const registry::Tensor& tensor = g.registry.at(TensorSlot{i});
    const auto address = tensor.address.load(std::memory_order_acquire);
    if (!tensor.own_pages || address == 0) continue;
    constexpr std::size_t kSample = 64;
    tier::Tier found[kSample];
    const std::size_t count = std::min<std::size_t>((tensor.bytes + kPage - 1) / kPage, kSample);
    if (g.tiers.backend->locate(reinterpret_cast<const void*>(address), count, found) != 0) return;
    for (std::size_t page = 0; page < count; ++page) {
      if (found[page] == tier::Tier::none) continue;
      ++tiers.pages_checked;
      const tier::Tier booked = g.tiers.pages.at(reinterpret_cast<const void*>(address + page * kPage));
      tiers.pages_as_booked += booked == found[page] ? 1 : 0;
    }
  }
}

}  // namespace

report::TierFacts tier_facts() {
  const Tiers& t = g.tiers;
  report::TierFacts tiers;
  tiers.present = t.on;
  if (!t.on) return tiers;
  tiers.backend = t.backend->name();
  tiers.how = t.how;
  tiers.policy = policy_name(g.knobs.policy);
  tiers.capacity = t.pages.capacity() == tier::Pages::kUnlimited ? 0 : t.pages.capacity();
  tiers.fast_bytes = t.pages.fast_bytes();
  tiers.slow_bytes = t.pages.slow_bytes();
  tiers.fast_peak = t.pages.fast_peak();
  tiers.unbound_bytes = t.unbound_bytes;
  check_residency(tiers);
  const migrate::MoveStats moves = t.migrator.stats();
  tiers.to_fast = {moves.to_fast.requests, moves.to_fast.bytes, moves.to_fast.busy_ns};
  tiers.to_slow = {moves.to_slow.requests, moves.to_slow.bytes, moves.to_slow.busy_ns};
  tiers.dropped_clean = moves.dropped_clean_bytes;
  tiers.failed_bytes = moves.failed_bytes;
  tiers.busy = moves.busy;
  tiers.no_memory = moves.no_memory;
  tiers.forbidden = moves.forbidden;
  tiers.absent_node = moves.absent_node;
  tiers.other = moves.other;
  tiers.calls = moves.calls;
  tiers.retries = moves.retries;
  tiers.full = moves.full;
  tiers.cancelled = moves.cancelled;
  tiers.refused = moves.refused;
  tiers.late = moves.late;
  tiers.latest_ns = moves.latest_ns;
  tiers.charges = t.charges.load(std::memory_order_relaxed);
  tiers.charged_ns = t.charged_ns.load(std::memory_order_relaxed);
  tiers.overshoot_ns = t.overshoot_ns.load(std::memory_order_relaxed);
  tiers.slow_bytes_used = t.slow_bytes_used.load(std::memory_order_relaxed);
  return tiers;
}

}  // namespace hearth::runtime
