// Form: how an op's time depends on its placement, by what has been measured, and what is still to be measured.
//
// First with none, all, and each one of the operands slow. If the single ones' extras add up to the joint one, the op
// is additive; if not, and it has few operands, each of the 2^n placements is measured.
//
// All of it after noise has been taken out as far as it shows.
//
// Pure; allocates.
#pragma once

#include <vector>

#include "costs/cost_table.h"
#include "tier/machine.h"

namespace hearth::costs {

struct Tolerance {
  double share = 0.1;        // of the time with all slow
  double ns = 3000;          // and so much at least: timers and caches
  double shows = 0.01;       // operands whose traffic takes less longer than this share of the op's time cost nothing
  std::size_t operands = 4;  // most of an exact form
};

enum class Kind : std::uint8_t {
  unmeasured,  // something is missing
  additive,
  exact,
  neither,  // not additive, too many operands: the roofline's, which knows one way of not being additive
};

struct Form {
  Kind kind = Kind::unmeasured;
  std::vector<Mask> missing;
  std::vector<std::uint32_t> operands;  // those that matter, indices into the key's
  double fast_ns = 0;
  std::vector<double> more_ns;  // by those operands: when that alone is slow
  std::vector<double> table;    // exact: by mask of those operands
  double joint_ns = 0;          // with all of them slow

  double sum_ns() const;  // with all of them slow, if it were additive
  double error() const {  // of that
    return joint_ns > 0 ? (sum_ns() - joint_ns) / joint_ns : 0;
  }
  bool checked() const { return kind != Kind::unmeasured && operands.size() > 1; }
};

// `self_ns`: what the op takes, as long as that has not been measured.
Form form_of(const OpKey& key, const CostTable& table, const tier::Machine& machine, double self_ns,
             const Tolerance& tolerance = {});

}  // namespace hearth::costs
