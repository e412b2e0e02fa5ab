// Study: one program's ops beside the table of costs: what is to be measured, what was, and what follows.
//
// Allocates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "costs/form.h"
#include "costs/rounds.h"
#include "profile/profile.h"
#include "simulate/workload.h"

namespace hearth::costs {

class Study {
 public:
  // Profile and workload outlive it.
  Study(const profile::Profile& profile, const simulate::Workload& workload, const tier::Machine& machine);

  const std::vector<Keyed>& ops() const { return ops_; }
  const std::vector<Alike>& alike() const { return alike_; }
  Form form(const Alike& each, const CostTable& table) const;

  // Placements of all objects in which what is missing is measured.
  std::vector<Round> rounds(const CostTable& table) const;

  // Takes the times of an iteration of the same program in which objects lay as in the round. False: its ops are not
  // those of the profile.
  bool take(const profile::Profile& timed, const Round& round, CostTable& table) const;

 private:
  const profile::Profile& profile_;
  const simulate::Workload& workload_;
  tier::Machine machine_;
  std::vector<Keyed> ops_;
  std::vector<Alike> alike_;  // by the time that they take together, most first
};

// What of the measured times counts.
enum class Use : std::uint8_t {
  measured,  // all that is known
  additive,  // as if all ops were
  roofline,  // the time with all fast, as the op's own time: to compare with
};

// How many of the workload's ops have which kind of cost.
struct Applied {
  std::size_t additive = 0, exact = 0;
  std::size_t own = 0;         // by the roofline from their measured own time: not additive, too many operands
  std::size_t unmeasured = 0;  // by the roofline: operands that matter, and no times
  std::size_t small = 0;       // by the roofline: no operand is large enough to show
};

// Gives the workload's ops the costs that have been measured.
Applied apply(const profile::Profile& profile, const tier::Machine& machine, const CostTable& table, Use use,
              simulate::Workload& workload);

}  // namespace hearth::costs
