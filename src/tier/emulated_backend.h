// An emulated slow tier, for machines with one kind of memory: what would my training do with so much DRAM and Optane?
//
// All pages stay where they are; which are slow stands in the books. Two things make that honest. A move is a real
// copy of the bytes, so that it competes for memory with the program as a real one would, and it takes as long as the
// machine's move bandwidth says. What pages cost when they are used is charged at the end of each op (charge.h).
//
// Its slow tier keeps a copy of what is fetched from it, as a runtime that copies pages itself could: dropping a clean
// page takes no time. The kernel's nodes cannot do that (numa_backend.h), so that a plan for them reckons without it.
//
// The bandwidth of a direction is what all movers share: each has a lane with a clock of its own, on which every chunk
// reserves the next free stretch of time. The two directions do not wait for each other.
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
  bool keeps_copies() const override { return true; }
  bool drop_clean(Extent pages) override;
  bool forget(Extent pages) override;
  int locate(const void* address, std::size_t count, Tier* tiers) override;

  // For how long the lanes have been at work until `now_ns`, not before now, both together.
  std::uint64_t busy_ns(std::uint64_t now_ns) const { return to_fast_.busy_ns(now_ns) + to_slow_.busy_ns(now_ns); }

  // Bytes that took longer than the machine's bandwidth allows, since the host could not copy as fast.
  std::uint64_t late_bytes() const { return late_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::uint64_t begin_ns, due_ns;
    std::uint64_t made_up_ns;  // it begins so much before it was asked for
  };
  // One direction's time, in slots that never overlap. What a mover overslept while nobody else had the lane, the next
  // slot begins earlier by: it could have begun then, so that the pace holds over many.
  struct Lane {
    double pace = 0;                         // bytes per ns
    std::atomic<std::uint64_t> free_ns{0};   // until then it is taken
    std::atomic<std::uint64_t> taken_ns{0};  // all slots so far
    std::atomic<std::uint64_t> slept_ns{0};  // too long, and not yet made up for
    Slot reserve(std::uint64_t ns);
    std::uint64_t busy_ns(std::uint64_t now_ns) const;
    // Sleeps until the slot is over. False if it is over already, for another reason than sleep.
    bool spend(const Slot& slot);
  };
  Lane& lane(Tier to) { return to == Tier::fast ? to_fast_ : to_slow_; }
  std::byte* scratch();

  Lane to_fast_;
  Lane to_slow_;
  std::byte* scratch_ = nullptr;  // kChunk for each mover
  std::atomic<std::uint32_t> movers_{0};
  std::atomic<std::uint64_t> late_{0};
};

}  // namespace hearth::tier
