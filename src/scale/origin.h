// Origin: which two traces can be extrapolated from, and how a trace that was made of them says so.
#pragma once

#include <string>

#include "profile/trace_file.h"
#include "scale/fit.h"

namespace hearth::scale {

// Why these two cannot be scaled; empty if they can, as far as one sees without comparing events.
std::string misfit(const profile::Trace& small, const profile::Trace& large);

// "from sizes 4 and 6 to 48", of what is called `what`.
std::string origin_text(const std::string& what, const Sizes& sizes);

}  // namespace hearth::scale
