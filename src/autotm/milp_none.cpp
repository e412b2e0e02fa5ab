// Built without a solver.
#include "autotm/milp.h"

namespace hearth::autotm {

std::string backend() { return {}; }

Solution solve(const Program&, const SolveOptions&) { return {}; }

}  // namespace hearth::autotm
