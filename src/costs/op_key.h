// OpKey: under what the measured times of an op are kept. Ops of one name with operands of the same sizes, used in the
// same way, are taken to cost the same (AutoTM, ASPLOS 2020, section 4: kernels of equal parameters are measured once).
//
// Plain values; making them allocates.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::costs {

constexpr std::size_t kMostOperands = 8;

struct Operand {
  std::uint64_t read = 0, write = 0;  // bytes

  auto operator<=>(const Operand&) const = default;
};

struct OpKey {
  std::string op;
  std::vector<Operand> operands;  // that can be placed and are large enough to show; most traffic first
  std::uint64_t other_bytes = 0;  // of all the others

  auto operator<=>(const OpKey&) const = default;
};

// An op of the workload that has such operands.
struct Keyed {
  std::uint32_t op = 0;  // of the workload
  OpKey key;
  std::vector<std::uint32_t> objects;  // of the workload, by operand
};

// Large enough: from slow memory the operand's traffic takes at least so much longer.
constexpr double kShowsNs = 2000;

// In the order of the workload's ops. At most kMostOperands operands of each count, those with most traffic.
std::vector<Keyed> keyed_ops(const profile::Profile& profile, const simulate::Workload& workload,
                             const tier::Machine& machine);

// By how much longer the traffic takes from slow memory.
double more_of(const Operand& operand, const tier::Machine& machine);

}  // namespace hearth::costs
