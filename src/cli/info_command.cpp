// hearth info: what is installed, what is in force, what this machine permits. The first thing to paste into a report
// of a problem.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/info_libraries.h"
#include "cli/info_text.h"
#include "cli/knob_reader.h"
#include "cli/library.h"
#include "cli/machine.h"
#include "cli/permissions.h"
#include "cli/probe_view.h"
#include "cli/torch_probe.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
  std::string python = "python3";
  bool no_python = false;
  bool presets = false;
  bool json = false;
};

Json library_facts(const Result<std::filesystem::path>& library, const std::vector<Adapter>& adapters) {
  Json facts = Json::object();
  if (library) {
    facts["path"] = library->string();
  } else {
    facts["error"] = library.error();
  }
  facts["adapters"] = Json::array();
  for (const Adapter& adapter : adapters) {
    facts["adapters"].push_back(
        {{"path", adapter.path.string()}, {"torch", adapter.torch_version}, {"cxx11_abi", adapter.cxx11_abi}});
  }
  return facts;
}

Json torch_facts(const std::string& python, const std::vector<Adapter>& adapters) {
  Json facts = probe_torch(python, inherited());
  const Adapter* adapter = matching_adapter(adapters, facts);
  facts["adapter"] = adapter != nullptr ? Json(adapter->path.string()) : Json(nullptr);
  return facts;
}

Json knob_facts(const KnobsInForce& in_force) {
  Json list = Json::array();
  for (const config::KnobRow& row : config::kKnobs) {
    const auto index = static_cast<config::KnobIndex>(&row - config::kKnobs.data());
    list.push_back({{"name", row.name},
                    {"value", value_text(in_force.knobs, row)},
                    {"origin", config::origin_name(in_force.origins[index])}});
  }
  return list;
}

Json permission_facts() {
  Json list = Json::array();
  for (const Permission& permission : probe_permissions()) {
    Json facts = {
        {"call", permission.call}, {"permitted", permission.permitted}, {"needed_for", permission.needed_for}};
    if (!permission.permitted) facts["reason"] = permission.reason;
    if (!permission.cure.empty()) facts["cure"] = permission.cure;
    list.push_back(facts);
  }
  return list;
}

Json fault_facts() {
  const FaultCost cost = measure_fault_cost();
  const auto number = [](std::uint64_t ns) { return ns != 0 ? Json(ns) : Json(nullptr); };
  return {{"first_touch_ns", number(cost.first_touch_ns)}, {"protect_fault_ns", number(cost.protect_fault_ns)}};
}

Json collect(const InfoOptions& options) {
  const auto in_force = read_knobs(inherited());
  const Result<std::filesystem::path> library = find_library(in_force->knobs.library.c_str());
  const std::vector<Adapter> adapters = library ? find_adapters(*library) : std::vector<Adapter>{};
  Json facts = {{"schema_version", 1},
                {"version", fmt::format("{}.{}.{}", HEARTH_VERSION_MAJOR, HEARTH_VERSION_MINOR, HEARTH_VERSION_PATCH)},
                {"library", library_facts(library, adapters)}};
  if (!options.no_python) facts["pytorch"] = torch_facts(options.python, adapters);
  facts["machine"] = describe_machine("/");
  facts["tiers"] = describe_tiers("/", in_force->knobs.fast_nodes.c_str(), in_force->knobs.slow_nodes.c_str());
  facts["libraries"] = library_facts_of_memory();
  facts["page_fault"] = fault_facts();
  facts["permitted"] = permission_facts();
  facts["knobs"] = knob_facts(*in_force);
  facts["problems"] = in_force->problems;
  return facts;
}

}  // namespace

void add_info(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand("info", "Show what is installed, in force and permitted on this machine");
  command->add_option("--python", options->python, "Interpreter whose PyTorch is looked at")->capture_default_str();
  command->add_flag("--no-python", options->no_python, "Do not start an interpreter (importing torch takes seconds)");
  command->add_flag("--presets", options->presets, "The machines with names, their figures and where these come from");
  command->add_flag("--json", options->json, "As JSON");
  command->footer("\nExamples:\n  hearth info\n  hearth info --python venv/bin/python --json");
  command->callback([options] {
    if (options->presets) {
      fmt::print("{}\n", options->json ? presets_facts().dump(2) : presets_text());
      return;
    }
    const Json facts = collect(*options);
    if (options->json) {
      // Paths may hold bytes that are no UTF-8.
      fmt::print("{}\n", facts.dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
      fmt::print("{}", info_text(facts));
    }
  });
}

}  // namespace hearth::cli
