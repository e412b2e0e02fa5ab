// The seam to the hot rooms: a machine by its name or file, without an exception or a string crossing it.
// Called once, when the tiers are set up; allocates.
#pragma once

#include <cstddef>

#include "tier/machine.h"

namespace hearth::machine {

// False, and one sentence in why[0..capacity), if there is none. A note for the user may stand there all the same.
bool named_machine(const char* name_or_path, tier::Machine* machine, char* why, std::size_t capacity) noexcept;

}  // namespace hearth::machine
