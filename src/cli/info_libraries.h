// Which libraries of the memory world are installed, and what they find here. Hearth needs none of them; what they see
// is what other tools on this machine would use.
//
// Called by `hearth info` on the main thread; asks in a child, since these libraries print and may end the process.
#pragma once

#include <nlohmann/json.hpp>

namespace hearth::cli {

// {libnuma: {loaded, highest_node}, memkind: {loaded, version, dax_kmem, hbw}}; what could not be found out is null.
nlohmann::ordered_json library_facts_of_memory();

}  // namespace hearth::cli
