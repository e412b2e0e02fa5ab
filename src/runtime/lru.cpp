#include "runtime/lru.h"

#include "base/log.h"
#include "runtime/facts.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

// kernel.numa_balancing_promote_rate_limit_MBps, as it comes, of hardware that is not scaled.
constexpr double kPromotedPerSecond = 65536e6;

bool may_move() { return !profiling() && g.residence.plan == nullptr; }

}  // namespace

void start_lru() {
  Tiers& t = g.tiers;
  if (g.knobs.policy != config::PolicyName::lru) return;
  const double scale = t.emulating && t.machine.scale > 0 ? t.machine.scale : 1;
  t.lists.init(t.pages, t.migrator, static_cast<std::uint64_t>(kPromotedPerSecond * scale));
  t.by_access = t.lists.add_range(g.heap.begin(), g.heap.reserved());
  if (t.by_access) return;
  constexpr const char* kCause = "HEARTH_POLICY=lru: no address space for the lists of pages (ulimit -v, -d?)";
  constexpr const char* kCure = "raise the limit; pages stay where they were first touched";
  degrade("policy", kCause, kCure);
  log::warn(kCause, "; ", kCure);
}

void lru_watch(const void* base, std::uint64_t bytes) {
  if (g.tiers.by_access && !g.tiers.lists.add_range(base, bytes)) {
    degrade("policy", "HEARTH_POLICY=lru: no address space for more lists of pages (ulimit -v, -d?)",
            "raise the limit; planned tensors stay where they were first touched");
  }
}

void lru_begin_op() {
  if (g.tiers.by_access) [[unlikely]]
    g.tiers.lists.tick();
}

void lru_used(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows) {
  if (g.tiers.by_access && may_move()) [[unlikely]]
    g.tiers.lists.touch({storage, storage_bytes}, rows);
}

void lru_placed(const void* address, std::uint64_t bytes) {
  if (g.tiers.by_access) [[unlikely]]
    g.tiers.lists.add({address, bytes}, may_move());
}

void add_lru_facts(report::TierFacts& tiers) {
  tiers.by_access = g.tiers.by_access;
  if (!tiers.by_access) return;
  const migrate::ListStats lists = g.tiers.lists.stats();
  tiers.lists = {lists.active,      lists.inactive,   lists.accesses,  lists.activated,
                 lists.deactivated, lists.promotions, lists.demotions, lists.held_back};
}

}  // namespace hearth::runtime
