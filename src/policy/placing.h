// Placing: where all parts lie now, what that takes of the room and of the ops' time, and how one of them can be placed
// at the prices of the moment. What search.h and improve.h turn.
//
// Deterministic; allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/grid.h"
#include "policy/modes.h"
#include "policy/parts.h"
#include "policy/room.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

class Placing {
 public:
  // All slow. `pool`: of the capacity, set aside for it.
  Placing(const simulate::Workload& workload, const tier::Machine& machine, const Grid& grid, const Parts& parts,
          double capacity, double pool);

  void clear();

  // The ways in which the part can lie, all others lying as they do.
  Modes modes_of(std::uint32_t p) const;
  // False if there is no room for it. The part must be slow.
  bool try_place(std::uint32_t p, const Mode& mode);

  // A part as it lies, to lie so again.
  struct Kept {
    Placement placement;
    Mode mode;
  };
  // It is slow then.
  Kept take_out(std::uint32_t p);
  void put_back(std::uint32_t p, Kept kept);

  // From here on what is clean goes back for free, where the machine keeps copies.
  void drop_clean();

  // ns: of all ops; and with what the moves make those longer that are bound by memory (Machine::interference).
  double step_ns() const { return total_; }
  double cost() const { return total_ + toll_ns_; }
  double capacity() const { return capacity_; }
  double pool() const { return pool_; }
  std::vector<double> op_times() const;
  const Grid& grid() const { return *grid_; }
  const Parts& parts() const { return *parts_; }
  const Durations& durations(std::uint32_t p) const { return durations_[p]; }
  const Placement& placement(std::uint32_t p) const { return placements_[p]; }
  const std::vector<Placement>& placements() const { return placements_; }
  Prices& prices() { return prices_; }

 private:
  double op_ns(std::size_t op) const;
  double toll_of(const Placement& placement) const;
  void add_traffic(std::uint32_t p, std::uint8_t clusters, double sign);
  Savings savings_of(std::uint32_t p) const;
  bool fit(const Part& part, const Durations& durations, const Mode& mode, Placement& placement);

  const simulate::Workload* workload_;
  const Grid* grid_;
  const Parts* parts_;
  double capacity_, pool_;
  bool keeps_copies_;
  std::vector<Durations> durations_;  // by part
  Prices prices_;
  Room room_;
  std::vector<double> traffic_;  // ns, by op
  double total_ = 0;             // ns
  std::vector<double> toll_;     // by slot: what a ns in either lane makes ops longer by
  double toll_ns_ = 0;
  std::vector<Placement> placements_;
  std::vector<Mode> modes_;
};

}  // namespace hearth::policy
