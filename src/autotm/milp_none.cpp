// Built without a solver.
#include "autotm/milp.h"

namespace hearth::autotm {

std::string backend() { return {}; }

Solution solve_by_backend(const Program&, const SolveOptions&) { return {}; }

}  // namespace hearth::autotm
