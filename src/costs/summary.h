// Summary: what a program's measured ops come to: are they additive, and does the roofline foresee them?
//
// Pure; allocates.
#pragma once

#include <cstddef>
#include <vector>

#include "costs/study.h"

namespace hearth::costs {

// Of ops of one kind, which have more than one operand that matters.
struct Checked {
  std::size_t alike = 0;  // index into Study::alike()
  Form form;
};

struct Summary {
  std::size_t ops = 0, kinds = 0;      // with operands that are large enough to show
  std::size_t missing = 0;             // kinds of which something is not measured yet
  std::size_t placements = 0;          // measured, of these kinds
  std::vector<Checked> checked;        // the least additive first
  std::size_t exact = 0, neither = 0;  // of those: kinds that are not additive
  double median_error = 0;             // of the sum of single extras against the joint one, of the time all slow
  // Of all those ops together, in an iteration:
  double fast_ns = 0, slow_ns = 0;   // measured
  double roofline_slow_ns = 0;       // foreseen from fast_ns
  double median_roofline_error = 0;  // of a kind's time all slow, absolute
};

Summary summarize(const Study& study, const CostTable& table, const simulate::Workload& workload,
                  const tier::Machine& machine);

}  // namespace hearth::costs
