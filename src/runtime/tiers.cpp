#include "runtime/tiers.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/text.h"
#include "machine/named_machine.h"
#include "plan/sequence.h"
#include "platform/os_memory.h"
#include "runtime/facts.h"
#include "runtime/lru.h"
#include "runtime/residency.h"
#include "runtime/state.h"
#include "tier/node_list.h"
#include "tier/topology_choice.h"

namespace hearth::runtime {
namespace {

using config::PolicyName;
using tier::Extent;
using tier::Tier;

constexpr std::uint64_t kPage = tier::Pages::kPage;
constexpr std::uint64_t kUnit = tier::Backend::kMoveUnit;  // of interleaving: a huge page
constexpr std::uint64_t kSettleNs = 30'000'000'000;

// What whole ranges are bound to: single runs that differ are bound apart.
Tier usual_tier() { return g.knobs.policy == PolicyName::all_slow ? Tier::slow : Tier::fast; }

void no_tiers(const char* cause, const char* cure) {
  degrade("tiers", cause, cure);
  log::warn(cause, "; ", cure);
}

bool asked_for() {
  const auto given = [](config::KnobIndex index) { return g.knob_origins[index] != config::Origin::built_in; };
  return given(config::KnobIndex::fast_capacity) || given(config::KnobIndex::slow_nodes) ||
         given(config::KnobIndex::fast_nodes) || given(config::KnobIndex::policy);
}

// May pages be placed and moved here (containers often forbid it)?
bool permitted() {
  Tiers& t = g.tiers;
  void* probe = os::reserve(kPage, kPage);
  if (probe == nullptr || os::commit(probe, kPage) != 0) return false;
  *static_cast<volatile char*>(probe) = 1;
  const int bind = t.numa.bind({probe, kPage}, Tier::slow);
  Tier where = Tier::none;
  const int locate = t.numa.locate(probe, 1, &where);
  const tier::Moved moved = t.numa.move({probe, kPage}, Tier::slow);
  os::unmap(probe, kPage);
  const int error = bind != 0 ? bind : locate != 0 ? locate : moved.error;
  if (error == 0) return true;
  const char* call = bind != 0 ? "mbind" : locate != 0 ? "a query by move_pages" : "move_pages";
  text::Buffer<sizeof(Degradation::cause)> cause;
  cause << call << " is refused here: " << text::Errno{error};
  no_tiers(
      cause.c_str(),
      "tensors stay where the kernel puts them; allow mbind and move_pages (seccomp profile, CAP_SYS_NICE, cpuset)");
  return false;
}

bool use_nodes() {
  Tiers& t = g.tiers;
  auto* topology = static_cast<tier::Topology*>(os::map_zeroed(sizeof(tier::Topology)));
  if (topology == nullptr || !tier::read_topology("", topology)) {
    no_tiers("the kernel does not show its memory nodes", "mount /sys; tensors stay where the kernel puts them");
    return false;
  }
  const tier::TierChoice choice = tier::choose_tiers(*topology, std::string_view(g.knobs.fast_nodes.c_str()),
                                                     std::string_view(g.knobs.slow_nodes.c_str()));
  if (!choice.two_tiers()) {
    no_tiers(choice.problem, "HEARTH_TIERS=emulated shows what a second kind of memory would do");
    return false;
  }
  t.numa.init(choice.fast, choice.slow);
  // What plans reckon with: the nodes' own speeds are in no table of the kernel that can be relied on.
  char why[384] = "";
  if (!machine::named_machine(g.knobs.machine.c_str(), &t.machine, why, sizeof why)) {
    text::Buffer<sizeof(Degradation::cause)> cause;
    cause << "HEARTH_MACHINE: " << why;
    degrade("plan", cause.c_str(), "plans reckon with optane-100");
    log::warn(cause.view(), "; plans reckon with optane-100");
    machine::named_machine("optane-100", &t.machine, why, sizeof why);
  }
  if (!permitted()) return false;
  t.backend = &t.numa;
  text::Writer how(t.how, sizeof t.how);
  how << "fast nodes ";
  tier::write_nodes(how, choice.fast);
  how << ", slow nodes ";
  tier::write_nodes(how, choice.slow);
  how << ": " << choice.how;
  return true;
}

bool use_emulation() {
  Tiers& t = g.tiers;
  char why[384] = "";
  if (!machine::named_machine(g.knobs.machine.c_str(), &t.machine, why, sizeof why)) {
    text::Buffer<sizeof(Degradation::cause)> cause;
    cause << "HEARTH_MACHINE: " << why;
    no_tiers(cause.c_str(),
             "give a preset (hearth info --presets) or a machine.json; tensors stay in one kind of memory");
    return false;
  }
  if (why[0] != '\0') log::info(why);
  if (!t.emulated.init(t.machine)) {
    no_tiers("HEARTH_MACHINE describes no second kind of memory (no speed of moves)",
             "give a preset or a machine.json with two tiers");
    return false;
  }
  t.backend = &t.emulated;
  t.emulating = true;
  text::Writer(t.how, sizeof t.how) << "emulated: " << t.machine.name;
  return true;
}

void start_movers() {
  Tiers& t = g.tiers;
  t.machine.keeps_copies = t.backend->keeps_copies();
  migrate::Options options;
  options.threads = static_cast<std::uint32_t>(g.knobs.movers);
  os::NodeMask cpus;  // the same lists, the same width
  os::CpuMask mask;
  if (!g.knobs.mover_cpus.empty()) {
    if (tier::parse_kernel_list(g.knobs.mover_cpus.c_str(), cpus)) {
      std::memcpy(mask.words, cpus.words, sizeof mask.words);
      options.cpus = &mask;
    } else {
      text::Buffer<sizeof(Degradation::cause)> cause;
      cause << "HEARTH_MOVER_CPUS=" << g.knobs.mover_cpus.c_str() << ": not a list such as 0-3,8";
      degrade("movers", cause.c_str(), "movers run on any processor");
      log::warn(cause.view(), "; movers run on any processor");
    }
  }
  t.migrator.init(*t.backend, t.pages, options);
}

// In the middle of a run: a node went offline, or a cpuset took it away. Pages that no longer can be bound stay where
// the kernel puts them, and the books go on as if, so that a node that comes back is used again. Said once.
void tell_unbound(Tier tier, int error) {
  if (g.tiers.unbound_told.exchange(true, std::memory_order_relaxed)) return;
  text::Buffer<sizeof(Degradation::cause)> cause;
  cause << (tier == Tier::slow ? "the slow" : "the fast") << " nodes take no more pages: mbind: " << text::Errno{error};
  constexpr const char* kCure =
      "is a node offline, or was the cpuset changed? new tensors lie where the kernel puts them";
  degrade("tiers", cause.c_str(), kCure);
  log::warn(cause.view(), "; ", kCure);
}

// Runs of `tier` that are to come from elsewhere than the kernel has been told.
void bind(Extent pages, Tier tier) {
  Tiers& t = g.tiers;
  if (t.pages.bound_to(pages, tier, usual_tier())) return;
  const int error = t.backend->bind(pages, tier);
  if (error == 0) return t.pages.set_bound(pages, tier);
  t.unbound_bytes.fetch_add(pages.bytes, std::memory_order_relaxed);
  tell_unbound(tier, error);
}

void settle(Extent pages, Tier tier) {
  if (pages.bytes == 0) return;
  bind(pages, tier);
  const std::uint64_t settled = g.tiers.pages.settle(pages, tier);
  if (tier == Tier::fast) g.tiers.pages.unclaim(pages.bytes - settled);
}

// A run of pages that lie nowhere: as much of its front as there is room for becomes fast.
void place_fast_first(Extent run) {
  const std::uint64_t front = g.tiers.pages.claim_some(run.bytes);
  settle({run.address, front}, Tier::fast);
  settle(tier::extent(run.begin() + front, run.end()), Tier::slow);
}

// Spread evenly: unit n is fast where the sum of shares passes a whole number.
bool unit_is_fast(std::uintptr_t address) {
  const std::uint64_t n = address / kUnit;
  const config::Weights weights = config::Weights::of(g.knobs.interleave);
  const std::uint64_t all = weights.fast + weights.slow;
  return (n + 1) * weights.fast / all != n * weights.fast / all;
}

void place_interleaved(Extent run) {
  for (std::uintptr_t begin = run.begin(); begin < run.end();) {
    const std::uintptr_t end = std::min((begin / kUnit + 1) * kUnit, run.end());
    if (unit_is_fast(begin)) {
      place_fast_first(tier::extent(begin, end));
    } else {
      settle(tier::extent(begin, end), Tier::slow);
    }
    begin = end;
  }
}

void place_run(Extent run) {
  switch (g.knobs.policy) {
    case PolicyName::all_slow:
      return settle(run, Tier::slow);
    case PolicyName::interleave:
      return place_interleaved(run);
    case PolicyName::all_fast:
    case PolicyName::first_touch:
    case PolicyName::lru:       // from there on they move as they are used
    case PolicyName::sentinel:  // until there is a plan
    case PolicyName::tier_queue:
      return place_fast_first(run);
  }
}

void evict(Extent pages) {
  migrate::Migrator& movers = g.tiers.migrator;
  while (!movers.post({.pages = pages, .to = Tier::slow}) && movers.ready()) movers.drain(kSettleNs);  // it was full
}

// Tensors from before the capacity was known: what lies in a slow unit leaves where units are interleaved, and what
// there is no room for; the oldest stay.
void evict_beyond_capacity() {
  Tiers& t = g.tiers;
  std::uint64_t kept = 0;
  const std::uint32_t limit = g.registry.slot_limit();
  for (std::uint32_t i = 1; i < limit; ++i) {
    const registry::Tensor& tensor = g.registry.at(TensorSlot{i});
    const auto address = tensor.address.load(std::memory_order_acquire);
    if (!tensor.own_pages || address == 0) continue;
    // All of its block: a former, larger tenant may have left pages at its end.
    const auto* block = reinterpret_cast<const void*>(address);
    const std::uint64_t bytes = g.heap.owns(block) ? g.heap.block_bytes(block) : tensor.bytes;
    const std::uintptr_t last = address + (bytes + kPage - 1) / kPage * kPage;
    for (std::uintptr_t begin = address; begin < last;) {
      const bool interleaved = g.knobs.policy == PolicyName::interleave;
      const std::uintptr_t end = interleaved ? std::min((begin / kUnit + 1) * kUnit, last) : last;
      const Extent pages = tier::extent(begin, end);
      if ((interleaved && !unit_is_fast(begin)) || kept + pages.bytes > t.pages.capacity()) {
        evict(pages);
      } else {
        kept += pages.bytes;
      }
      begin = end;
    }
  }
  t.migrator.drain(kSettleNs);
}

}  // namespace

void start_tiers() {
  Tiers& t = g.tiers;
  t.backend = &t.single;
  const config::TierMode mode = g.knobs.tiers;
  if (mode == config::TierMode::single || !g.heap_ready) return;
  if (mode == config::TierMode::automatic && !asked_for()) return;
  if (!(mode == config::TierMode::emulated ? use_emulation() : use_nodes())) return;
  if (!t.pages.add_range(g.heap.begin(), g.heap.reserved())) {
    no_tiers("no address space for the books of pages (ulimit -v, -d?)", "raise the limit; running with one tier");
    t.emulating = false;
    t.backend = &t.single;
    return;
  }
  const std::uint64_t capacity = g.knobs.fast_capacity;
  const bool limited = capacity != 0 && !config::is_percentage(capacity) && g.knobs.policy != PolicyName::all_fast;
  if (limited) t.pages.set_capacity(capacity);
  g.heap.keep_books(t.pages);
  // A huge page moves as a whole: with tensors side by side on one, each move would take the neighbours along.
  if (!t.emulating) os::advise_small(const_cast<void*>(g.heap.begin()), g.heap.reserved());
  t.backend->bind({g.heap.begin(), g.heap.reserved()}, usual_tier());
  start_movers();
  start_lru();
  t.on = true;
  log::info("two tiers: ", t.how);
}

void settle_pages(Extent pages, Tier tier) {
  for (std::uintptr_t from = pages.begin(); from < pages.end();) {
    const Extent run = g.tiers.pages.next_run(tier::extent(from, pages.end()), Tier::none);
    if (run.bytes == 0) break;
    if (tier == Tier::fast) {
      place_fast_first(run);
    } else {
      settle(run, Tier::slow);
    }
    from = run.end();
  }
}

void place(const void* address, std::size_t bytes) {
  Tiers& t = g.tiers;
  if (!t.on) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(address) + bytes + kPage - 1) / kPage * kPage;
  for (std::uintptr_t from = begin; from < end;) {
    const Extent run = t.pages.next_run(tier::extent(from, end), Tier::none);
    if (run.bytes == 0) break;
    place_run(run);
    lru_placed(run.address, run.bytes);
    from = run.end();
  }
}

void set_profiled_peak(std::uint64_t bytes) {
  Tiers& t = g.tiers;
  if (!t.on || t.profiled_peak != 0) return;
  t.profiled_peak = bytes;
  const std::uint64_t share = g.knobs.fast_capacity;
  if (!config::is_percentage(share) || g.knobs.policy == PolicyName::all_fast) return;
  t.pages.set_capacity(config::share_bytes(share, bytes));
  g.heap.trim();  // free blocks that are kept would fill the fast tier
  evict_beyond_capacity();
  t.pages.restart_peak();
}

void place_plan(bool patient) {
  Tiers& t = g.tiers;
  const Managed& m = g.managed;
  arena::PackedArena* arena = m.arena.load(std::memory_order_relaxed);
  if (!t.on || arena == nullptr || m.plan == nullptr) return;
  if (!t.pages.owns(arena->begin())) {
    if (!t.pages.add_range(arena->begin(), arena->reserved())) return;
    arena->keep_books(t.pages);
    lru_watch(arena->begin(), arena->reserved());
    t.backend->bind({arena->begin(), arena->reserved()}, usual_tier());
  }
  if (m.plan->sequence->plan.residency.present()) return settle_residency(*m.plan->sequence, patient);
  leave_residency();
  const auto base = reinterpret_cast<std::uintptr_t>(arena->begin());
  for (const arena::Place& at : m.plan->sequence->places) {
    if (at.planned) place(reinterpret_cast<const void*>(base + at.offset), at.bytes);
  }
}

void fill_room() {
  Tiers& t = g.tiers;
  if (!t.on) return;
  if (g.residence.plan != nullptr) return settle_residency(*g.managed.plan->sequence, true);
  const bool fills = g.knobs.policy == PolicyName::first_touch || g.knobs.policy == PolicyName::sentinel ||
                     g.knobs.policy == PolicyName::tier_queue;
  if (!fills) return;
  const arena::PackedArena* arena = g.managed.arena.load(std::memory_order_relaxed);
  if (arena != nullptr) t.migrator.post({.pages = {arena->begin(), arena->height()}, .to = Tier::fast});
}

}  // namespace hearth::runtime
