#include "cli/machine.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/text.h"
#include "config/parse.h"
#include "tier/node_list.h"
#include "tier/topology_choice.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(config::trim(line));
}

void add_text(Json& facts, const char* key, const fs::path& path) {
  const std::string text = first_line(path);
  if (!text.empty()) facts[key] = text;
}

void add_number(Json& facts, const char* key, const fs::path& path) {
  const std::string text = first_line(path);
  long long number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) facts[key] = number;
}

// "always [madvise] never" -> madvise
void add_selected(Json& facts, const char* key, const fs::path& path) {
  const std::string text = first_line(path);
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open != std::string::npos && close != std::string::npos && open < close) {
    facts[key] = text.substr(open + 1, close - open - 1);
  }
}

// The value of "label: 123 kB" in a file of such lines, in bytes.
void add_kilobytes(Json& facts, const char* key, const fs::path& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(label + ":");
    if (at == std::string::npos) continue;
    std::istringstream rest(line.substr(at + label.size() + 1));
    std::uint64_t kilobytes = 0;
    if (rest >> kilobytes) facts[key] = kilobytes * 1024;
    return;
  }
}

std::string listed(const os::NodeMask& nodes) {
  text::Buffer<256> text;
  tier::write_nodes(text, nodes);
  return std::string(text.view());
}

// From the firmware's HMAT, where it has one.
void add_speed(Json& facts, const tier::Node& node) {
  const auto add = [&](const char* key, std::uint32_t figure) {
    if (figure != 0) facts[key] = figure;
  };
  add("read_mb_per_s", node.speed.read_bandwidth);
  add("write_mb_per_s", node.speed.write_bandwidth);
  add("read_latency_ns", node.speed.read_latency);
  add("write_latency_ns", node.speed.write_latency);
  if (node.speed.known()) facts["of_our_processors"] = node.speed_is_ours;
}

Json describe_node(const fs::path& root, unsigned number, const tier::Topology& topology) {
  const fs::path folder = root / "sys/devices/system/node" / ("node" + std::to_string(number));
  const tier::Node& node = topology.nodes[number];
  Json facts = {{"node", number}};
  add_text(facts, "cpus", folder / "cpulist");
  facts["bytes"] = node.bytes;
  facts["free_bytes"] = node.free_bytes;
  add_text(facts, "distances", folder / "distance");
  add_speed(facts, node);
  if (node.memory_tier >= 0) facts["memory_tier"] = node.memory_tier;
  facts["allowed"] = topology.allowed.has(number);  // a cpuset hides nodes that sysfs still lists
  return facts;
}

Json describe_nodes(const fs::path& root, const tier::Topology& topology) {
  Json nodes = Json::array();
  for (unsigned node = topology.online.next(0); node < os::NodeMask::kNodes; node = topology.online.next(node + 1)) {
    nodes.push_back(describe_node(root, node, topology));
  }
  return nodes;
}

}  // namespace

Json describe_tiers(const fs::path& root, std::string_view fast, std::string_view slow) {
  const auto topology = std::make_unique<tier::Topology>();
  tier::read_topology(root == "/" ? "" : root.c_str(), topology.get());
  const tier::TierChoice choice = tier::choose_tiers(*topology, fast, slow);
  if (!choice.two_tiers()) return {{"fast", nullptr}, {"slow", nullptr}, {"problem", choice.problem}};
  return {{"fast", listed(choice.fast)}, {"slow", listed(choice.slow)}, {"how", choice.how}};
}

Json describe_machine(const fs::path& root) {
  Json facts = Json::object();
  add_text(facts, "kernel", root / "proc/sys/kernel/osrelease");
  facts["page_bytes"] = sysconf(_SC_PAGESIZE);
  add_kilobytes(facts, "memory_bytes", root / "proc/meminfo", "MemTotal");
  add_kilobytes(facts, "available_bytes", root / "proc/meminfo", "MemAvailable");
  const fs::path huge = root / "sys/kernel/mm/transparent_hugepage";
  add_selected(facts, "transparent_huge_pages", huge / "enabled");
  add_selected(facts, "transparent_huge_pages_defrag", huge / "defrag");
  add_number(facts, "max_map_count", root / "proc/sys/vm/max_map_count");
  add_number(facts, "overcommit_memory", root / "proc/sys/vm/overcommit_memory");
  add_number(facts, "numa_balancing", root / "proc/sys/kernel/numa_balancing");
  add_number(facts, "perf_event_paranoid", root / "proc/sys/kernel/perf_event_paranoid");
  add_number(facts, "unprivileged_userfaultfd", root / "proc/sys/vm/unprivileged_userfaultfd");
  add_text(facts, "numa_demotion", root / "sys/kernel/mm/numa/demotion_enabled");
  const auto topology = std::make_unique<tier::Topology>();
  tier::read_topology(root == "/" ? "" : root.c_str(), topology.get());
  facts["nodes"] = describe_nodes(root, *topology);
  return facts;
}

}  // namespace hearth::cli
