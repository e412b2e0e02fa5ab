// Tiers: the second kind of memory in the training process: which backend it is, where new pages go, who moves them.
//
// Off (on == false) unless asked for and to be had; then nothing here is on the way of a tensor but one test.
// Pages get their tier when a tensor first comes to lie on them, within the capacity, by the policy; they keep it until
// they are given back or moved.
//
// Thread-safety: start once; place from any thread; all else by the thread that runs the iterations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "migrate/migrator.h"
#include "migrate/page_lists.h"
#include "runtime/steady.h"
#include "tier/charge.h"
#include "tier/emulated_backend.h"
#include "tier/machine.h"
#include "tier/numa_backend.h"
#include "tier/pages.h"
#include "tier/single_backend.h"

namespace hearth::runtime {

struct Tiers {
  bool on = false;         // two tiers
  bool emulating = false;  // and they are emulated: ops are charged for both
  tier::Backend* backend = nullptr;
  tier::SingleBackend single;
  tier::NumaBackend numa;
  tier::EmulatedBackend emulated;
  tier::Machine machine{};  // of the emulated tiers
  tier::Pages pages;
  migrate::Migrator migrator;
  bool by_access = false;                                // HEARTH_POLICY=lru: pages move by how they are used
  migrate::PageLists lists;                              // then
  char how[320] = {};                                    // why these tiers, for the report
  std::uint64_t profiled_peak = 0;                       // bytes; 0 = not known
  std::uint64_t pages_checked = 0, pages_as_booked = 0;  // check_residency()
  // Whose binding the kernel refused: they lie where the first touch puts them.
  std::atomic<std::uint64_t> unbound_bytes{0};
  std::atomic<bool> unbound_told{false};

  Steady steady;

  // Emulation: what was charged for either tier, and by how much the delays overshot.
  std::uint64_t charged_before_ns = 0;  // when the open iteration began
  std::atomic<std::uint64_t> charges{0};
  std::atomic<std::uint64_t> charged_ns{0};    // beyond what the host took by itself
  std::atomic<std::uint64_t> overshoot_ns{0};  // the delay's own error
  std::atomic<std::uint64_t> slow_bytes_used{0};
};

// Sets up the tiers that the knobs ask for, else says in one line what is lost.
void start_tiers();

// The block has been given to a tensor: pages of it that lie nowhere get a tier.
void place(const void* address, std::size_t bytes);

// What the profile found to be alive at once: a capacity given as a percentage is of that. The first one counts.
void set_profiled_peak(std::uint64_t bytes);

// Pages of the extent that lie nowhere get this tier, or the other one where there is no room.
void settle_pages(tier::Extent pages, tier::Tier tier);

// The current plan's places are about to be used, in their order. `patient`: residency.h.
void place_plan(bool patient);

// Tensors have moved from the heap to their planned places and left room on the fast tier, which first-touch fills.
void fill_room();

}  // namespace hearth::runtime
