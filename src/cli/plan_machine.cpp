#include "cli/plan_machine.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "machine/load.h"
#include "tier/topology_choice.h"

namespace hearth::cli {

tier::Machine plan_machine(const std::string& name_or_path) {
  std::string note;
  Result<tier::Machine> machine = machine::load_for_this_host(name_or_path, &note);
  if (!machine) fail(kFailed, machine.error());
  if (!machine->two_tiers()) fail(kFailed, name_or_path + " describes no second kind of memory");
  if (!note.empty()) fmt::print(stderr, "hearth: {}\n", note);
  const auto topology = std::make_unique<tier::Topology>();
  tier::read_topology("", topology.get());
  // On one node the tiers are emulated, and the emulated slow tier keeps what is fetched from it.
  machine->keeps_copies = !tier::choose_tiers(*topology, "", "").two_tiers();
  return *machine;
}

}  // namespace hearth::cli
