// Which machine is meant by a name: a preset, scaled to the host where that was measured, or a file.
//
// Called by tools and inside the training process when its tiers are set up; allocates, throws nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "tier/machine.h"

namespace hearth::machine {

// $XDG_CACHE_HOME/hearth/machine.json, else ~/.cache/hearth/machine.json; "" if the environment names neither. Where
// `hearth probe` leaves what it measured.
std::string host_path() noexcept;

// The machine of two tiers that `name_or_path` stands for. A preset is scaled to `host` (machine/scaling.h), unless
// that is null; a path, which is whatever holds a '/' or names a file, is taken as it stands.
Result<tier::Machine> load_machine(const std::string& name_or_path, const tier::Machine* host) noexcept;

// The same, with the host read from host_path(); a host that was never measured leaves presets unscaled, and `note`
// says so. A host file that is damaged is an error.
Result<tier::Machine> load_for_this_host(const std::string& name_or_path, std::string* note) noexcept;

}  // namespace hearth::machine
