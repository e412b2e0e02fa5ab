#include "runtime/tier_facts.h"

#include <algorithm>

#include "runtime/lru.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

const char* policy_name(config::PolicyName policy) {
  switch (policy) {
    case config::PolicyName::sentinel:
      return "sentinel";
    case config::PolicyName::first_touch:
      return "first-touch";
    case config::PolicyName::interleave:
      return "interleave";
    case config::PolicyName::lru:
      return "lru";
    case config::PolicyName::tier_queue:
      return "tier-queue";
    case config::PolicyName::all_fast:
      return "all-fast";
    case config::PolicyName::all_slow:
      return "all-slow";
  }
  return "";
}

// Of the extent's pages that have memory: how many are looked for, and how many lie where the books have them.
void check(tier::Extent pages, std::uint64_t at_most) {
  constexpr std::uint64_t kPage = tier::Pages::kPage;
  constexpr std::size_t kBatch = 64;
  Tiers& t = g.tiers;
  const std::uint64_t count = std::min(pages.bytes / kPage, at_most);
  for (std::uint64_t done = 0; done < count; done += kBatch) {
    tier::Tier found[kBatch];
    const std::uintptr_t begin = pages.begin() + done * kPage;
    const std::size_t batch = std::min<std::size_t>(count - done, kBatch);
    if (t.backend->locate(reinterpret_cast<const void*>(begin), batch, found) != 0) return;
    for (std::size_t i = 0; i < batch; ++i) {
      const tier::Tier booked = t.pages.at(reinterpret_cast<const void*>(begin + i * kPage));
      if (found[i] == tier::Tier::none || booked == tier::Tier::none) continue;
      ++t.pages_checked;
      t.pages_as_booked += booked == found[i] ? 1 : 0;
    }
  }
}

}  // namespace

void check_residency() {
  constexpr std::uint64_t kAtMost = 16384;  // pages
  constexpr std::uint64_t kOfOne = 512;
  const Tiers& t = g.tiers;
  if (!t.on || t.emulating) return;
  const std::uint64_t limit = t.pages_checked + kAtMost;
  const arena::PackedArena* arena = g.managed.arena.load(std::memory_order_relaxed);
  if (arena != nullptr && managing()) check({arena->begin(), arena->height()}, kAtMost / 2);
  const std::uint32_t slots = g.registry.slot_limit();
  for (std::uint32_t i = 1; i < slots && t.pages_checked < limit; ++i) {
    const registry::Tensor& tensor = g.registry.at(TensorSlot{i});
    const auto address = tensor.address.load(std::memory_order_acquire);
    const std::uint64_t bytes = (tensor.bytes + tier::Pages::kPage - 1) / tier::Pages::kPage * tier::Pages::kPage;
    if (tensor.own_pages && address != 0) check({reinterpret_cast<const void*>(address), bytes}, kOfOne);
  }
}

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
  tiers.unbound_bytes = t.unbound_bytes.load(std::memory_order_relaxed);
  if (t.pages_checked == 0) check_residency();
  tiers.pages_checked = t.pages_checked;
  tiers.pages_as_booked = t.pages_as_booked;
  const migrate::MoveStats moves = t.migrator.stats();
  tiers.to_fast = {moves.to_fast.requests, moves.to_fast.bytes, moves.to_fast.busy_ns};
  tiers.to_slow = {moves.to_slow.requests, moves.to_slow.bytes, moves.to_slow.busy_ns};
  if (t.backend == &t.numa) {
    tiers.to_fast.by = t.numa.moves_by(tier::Tier::fast);
    tiers.to_slow.by = t.numa.moves_by(tier::Tier::slow);
  }
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
  add_lru_facts(tiers);
  add_steady_facts(tiers);
  return tiers;
}

}  // namespace hearth::runtime
