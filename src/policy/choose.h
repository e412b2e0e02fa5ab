// What lies fast and what slow, for one workload: a share of each object, 0 = all fast, 1 = all slow.
//
// Pure functions on values; they allocate. docs/policies.md explains the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/simulate.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

using Shares = std::vector<float>;

// Sentinel's placement (HPCA 2021, sections 3 and 4), for memory that is used in place: the fast tier goes to the
// objects that save the most time for each byte and moment that they take of it. Short-lived tensors, which are used
// often and free their place at once, come first by that measure; weights and optimizer state take part; the object for
// which there is no more room lies fast in part, if it is a resident.
//   - What an object saves depends on the others: an op with one slow operand left is as slow as that makes it. So
//   savings
//     are reckoned anew whenever an object comes to the head of the queue (they only shrink).
//   - How much a long life counts is tried in a few ways, an exchange of fast objects for slow ones that save more
//     follows, and the simulator takes the best.
//   - An op that computes longer than its traffic takes, even from slow memory, gives its operands no reason to be
//   fast.
Shares choose_sentinel(const simulate::Workload& workload, const tier::Machine& machine, double capacity);

// In order of allocation: fast while there is room for a whole object, slow otherwise; never moved. Residents, which
// are oldest, come first.
Shares choose_first_touch(const simulate::Workload& workload, double capacity);

// The same share of everything.
Shares choose_interleave(const simulate::Workload& workload, double capacity);

Shares choose_all(const simulate::Workload& workload, float slow);

}  // namespace hearth::policy
