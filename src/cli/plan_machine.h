// The machine that a plan or a sweep is made for: by name or file, with what the backend that this host's tiers would
// have can do (tier/backend.h).
#pragma once

#include <string>

#include "tier/machine.h"

namespace hearth::cli {

// Tells on standard error what the user should know. Fails as a command does.
tier::Machine plan_machine(const std::string& name_or_path);

}  // namespace hearth::cli
