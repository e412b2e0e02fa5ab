// Tiers that are NUMA nodes: DRAM and PMM as a kmem node, CXL memory, a far socket, HBM.
//
// Never trusts what move_pages returns: a huge page named by its small pages reports EBUSY although it moved, and a
// plain success says nothing of single pages. Where the pages are is asked for afterwards; those that stayed are tried
// again a few times, since what pins a page (I/O, a page table walk) mostly passes.
//
// Whole units move by move_pages or by mbind, whichever is found to be quicker here (quicker_way.h); what the latter
// leaves behind is left to the former.
//
// Pages that have no memory yet when they are to move are bound to the target, so that it comes from there. Dead ones
// are given back by their owner (forget) and filled anew by a mover with MADV_POPULATE_WRITE, which leaves alone what
// the owner has touched already.
#pragma once

#include "platform/os_numa.h"
#include "tier/backend.h"
#include "tier/quicker_way.h"

namespace hearth::tier {

class NumaBackend final : public Backend {
 public:
  constexpr NumaBackend() = default;

  // Disjoint, not empty. Before everything else.
  void init(const os::NodeMask& fast, const os::NodeMask& slow) {
    fast_ = fast;
    slow_ = slow;
  }

  const char* name() const override { return "numa"; }
  bool tiered() const override { return true; }
  int bind(Extent pages, Tier tier) override;
  Moved move(Extent pages, Tier to) override;
  bool keeps_copies() const override { return false; }
  bool drop_clean(Extent pages) override;
  bool forget(Extent pages) override;
  int locate(const void* address, std::size_t count, Tier* tiers) override;

  // The system call that whole units move by: "move_pages", "mbind", "measuring".
  const char* moves_by(Tier to) const;
  const os::NodeMask& nodes(Tier tier) const { return tier == Tier::fast ? fast_ : slow_; }

 private:
  struct Batch;
  void move_batch(Batch& batch, Tier to, Moved& moved);
  Moved move_present(Extent pages, Tier to);
  bool move_unit(Extent unit, Tier to, Moved& moved);

  os::NodeMask fast_;
  os::NodeMask slow_;
  QuickerWay quicker_;
};

}  // namespace hearth::tier
