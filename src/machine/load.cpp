#include "machine/load.h"

#include <unistd.h>

#include <exception>

#include "machine/machine_file.h"
#include "machine/scaling.h"
#include "platform/os_process.h"
#include "tier/presets.h"

namespace hearth::machine {
namespace {

using tier::Machine;

bool there(const std::string& path) { return !path.empty() && access(path.c_str(), F_OK) == 0; }

std::string preset_names() {
  std::string names;
  for (const tier::Preset& preset : tier::presets())
    names += (names.empty() ? "" : ", ") + std::string(preset.machine.name);
  return names;
}

Result<Machine> from_file(const std::string& path) {
  Result<Machine> machine = read_machine(path);
  if (machine && !machine->two_tiers()) {
    return Error{path +
                 ": has no slow tier, it was measured on one kind of memory; write one that has: hearth probe "
                 "--scale optane-100 -o FILE"};
  }
  return machine;
}

Result<Machine> find(const std::string& name_or_path, const Machine* host) {
  if (const tier::Preset* preset = tier::find_preset(name_or_path)) {
    return host != nullptr ? scaled(preset->machine, *host) : preset->machine;
  }
  if (name_or_path.find('/') == std::string::npos && !there(name_or_path)) {
    return Error{"there is no machine " + name_or_path + "; name a file or one of: " + preset_names()};
  }
  return from_file(name_or_path);
}

}  // namespace

std::string host_path() noexcept {
  try {
    const char* cache = os::environment("XDG_CACHE_HOME");
    if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/hearth/machine.json";  // relative: invalid
    const char* home = os::environment("HOME");
    return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/hearth/machine.json" : "";
  } catch (const std::exception&) {
    return "";
  }
}

Result<Machine> load_machine(const std::string& name_or_path, const Machine* host) noexcept {
  try {
    return find(name_or_path, host);
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

Result<Machine> load_for_this_host(const std::string& name_or_path, std::string* note) noexcept {
  try {
    if (tier::find_preset(name_or_path) == nullptr) return find(name_or_path, nullptr);
    const std::string path = host_path();
    if (there(path)) {
      const Result<Machine> host = read_machine(path);
      return host ? find(name_or_path, &*host) : Error{host.error()};
    }
    *note = name_or_path + " is not scaled to this host, which was never measured: hearth probe";
    return find(name_or_path, nullptr);
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

}  // namespace hearth::machine
