#include "cli/machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "config/parse.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// No node number of a kernel is larger; keeps a damaged "0-4000000000" small.
constexpr int kMostNodes = 1 << 16;

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

std::string status_value(const fs::path& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(label + ":")) return std::string(config::trim(line.substr(label.size() + 1)));
  }
  return "";
}

Json describe_node(const fs::path& folder, int number) {
  Json node = {{"node", number}};
  add_text(node, "cpus", folder / "cpulist");
  add_kilobytes(node, "bytes", folder / "meminfo", "MemTotal");
  add_kilobytes(node, "free_bytes", folder / "meminfo", "MemFree");
  add_text(node, "distances", folder / "distance");
  // From the firmware's HMAT, where it has one.
  const fs::path access = folder / "access0" / "initiators";
  add_number(node, "read_mb_per_s", access / "read_bandwidth");
  add_number(node, "write_mb_per_s", access / "write_bandwidth");
  add_number(node, "read_latency_ns", access / "read_latency");
  add_number(node, "write_latency_ns", access / "write_latency");
  return node;
}

Json describe_nodes(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/node";
  const std::vector<int> allowed = parse_node_list(status_value(root / "proc/self/status", "Mems_allowed_list"));
  Json nodes = Json::array();
  for (const int number : parse_node_list(first_line(folder / "online"))) {
    Json node = describe_node(folder / ("node" + std::to_string(number)), number);
    // A cpuset hides nodes that sysfs still lists.
    node["allowed"] = allowed.empty() || std::find(allowed.begin(), allowed.end(), number) != allowed.end();
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

std::vector<int> parse_node_list(std::string_view text) {
  std::vector<int> nodes;
  while (!text.empty()) {
    std::string_view part = config::take_until(text, ',');
    const std::string_view first = config::take_until(part, '-');
    const config::Parsed low = config::parse_integer(first);
    const config::Parsed high = part.empty() ? low : config::parse_integer(part);
    if (low.verdict != config::Verdict::ok || high.verdict != config::Verdict::ok || high.value < low.value ||
        high.value >= kMostNodes) {
      return {};
    }
    for (std::uint64_t node = low.value; node <= high.value; ++node) nodes.push_back(static_cast<int>(node));
  }
  return nodes;
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
  facts["nodes"] = describe_nodes(root);
  return facts;
}

}  // namespace hearth::cli
