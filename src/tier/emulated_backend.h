// An emulated slow tier, for machines with one kind of memory: what would my training do with so much DRAM and Optane?
//
// All pages stay where they are; which are slow stands in the books. Two things make that honest. A move is a real
// copy of the bytes, so that it competes for memory with the program as a real one would, and it takes as long as the
// machine's move bandwidth says. What slow pages cost when they are used is charged at the end of each op (charge.h).
#pragma once

#include <atomic>

#include "tier/backend.h"
#include "tier/machine.h"

namespace hearth::tier {

class EmulatedBackend final : public Backend {
 public:
  constexpr EmulatedBackend() = default;

  // Before everything else. False if there is no memory for the copies.
  bool init(const Machine& machine);

  const char* name() const override { return "emulated"; }
  bool tiered() const override { return true; }
  int bind(Extent pages, Tier tier) override;
  Moved move(Extent pages, Tier to) override;
  bool drop_clean(Extent pages) override;
  Moved move_dead(Extent pages, Tier to) override;
  int locate(const void* address, std::size_t count, Tier* tiers) override;

  // Moves that took longer than the machine's bandwidth allows, since the host could not copy as fast: bytes.
  std::uint64_t late_bytes() const { return late_.load(std::memory_order_relaxed); }

 private:
  double to_fast_ = 0;  // bytes per ns
  double to_slow_ = 0;
  std::byte* scratch_ = nullptr;  // kMoveUnit for each lane
  std::atomic<std::uint32_t> lanes_{0};
  std::atomic<std::uint64_t> late_{0};
};

}  // namespace hearth::tier
