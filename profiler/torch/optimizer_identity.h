// Which optimizer's step is beginning: the address of the Python object, or 0 where none can be found (C++ programs,
// other threads, a finalising interpreter).
// Called by the callback of an "Optimizer.step#..." scope, once per step, on the thread that steps; takes the GIL.
#pragma once

#include <cstdint>

namespace hearth::adapter {

std::uint64_t identify_optimizer();

}  // namespace hearth::adapter
