#include "tier/topology.h"

#include <cerrno>

#include "base/text.h"
#include "config/parse.h"
#include "platform/os_files.h"
#include "tier/node_list.h"

namespace hearth::tier {
namespace {

using os::NodeMask;

constexpr const char* kNodes = "/sys/devices/system/node/";
constexpr const char* kTiers = "/sys/devices/virtual/memory_tiering/memory_tier";
// MEMTIER_CHUNK_BITS makes the numbers of tiers abstract distances / 128; those of known hardware end far below.
constexpr unsigned kMostTiers = 256;
constexpr std::size_t kListCapacity = 4096;
constexpr std::size_t kStatusCapacity = 16384;  // masks of thousands of processors stand before what is looked for

using Path = text::Buffer<512>;

// The file's text without surrounding space; "" if it cannot be read.
std::string_view read_line(const char* path, char* buffer, std::size_t capacity) {
  std::size_t length = 0;
  const int error = os::read_file(path, buffer, capacity, &length);
  if (error != 0 && error != EFBIG) return {};
  return config::trim({buffer, length});
}

bool read_mask(const Path& path, NodeMask& mask) {
  char buffer[kListCapacity];
  const std::string_view text = read_line(path.c_str(), buffer, sizeof buffer);
  return !text.empty() && parse_kernel_list(text, mask);
}

std::uint32_t read_number(const Path& path) {
  char buffer[64];
  const config::Parsed number = config::parse_integer(read_line(path.c_str(), buffer, sizeof buffer));
  return number.verdict == config::Verdict::ok && number.value <= UINT32_MAX ? static_cast<std::uint32_t>(number.value)
                                                                             : 0;
}

// What follows "label:" up to the end of its line; a label may stand within a line ("Node 0 MemTotal: 1 kB").
std::string_view value_of(std::string_view text, std::string_view label) {
  for (std::size_t at = text.find(label); at != std::string_view::npos; at = text.find(label, at + 1)) {
    std::string_view rest = text;
    rest.remove_prefix(at + label.size());
    if (rest.empty() || rest.front() != ':' || (at > 0 && !config::is_space(text[at - 1]))) continue;
    rest.remove_prefix(1);
    return config::trim(config::take_until(rest, '\n'));
  }
  return {};
}

bool kilobytes(std::string_view text, std::uint64_t* bytes) {
  const config::Parsed number = config::take_digits(text);
  if (number.verdict != config::Verdict::ok || number.value > UINT64_MAX / 1024) return false;
  *bytes = number.value * 1024;
  return true;
}

// Whether two lists of processors ("0-3,8") have one in common. By ranges: there are more processors than fit a mask.
bool overlap(std::string_view list, std::string_view other) {
  while (!list.empty()) {
    std::string_view part = config::take_until(list, ',');
    const std::uint64_t low = config::take_digits(part).value;
    if (!part.empty()) part.remove_prefix(1);
    const std::uint64_t high = part.empty() ? low : config::take_digits(part).value;
    for (std::string_view rest = other; !rest.empty();) {
      std::string_view against = config::take_until(rest, ',');
      const std::uint64_t begin = config::take_digits(against).value;
      if (!against.empty()) against.remove_prefix(1);
      const std::uint64_t end = against.empty() ? begin : config::take_digits(against).value;
      if (begin <= high && low <= end) return true;
    }
  }
  return false;
}

struct Status {
  char buffer[kStatusCapacity];
  std::string_view cpus;  // "" = not told
  std::string_view nodes;
};

void read_status(const char* root, Status& status) {
  Path path;
  path << root << "/proc/self/status";
  const std::string_view text = read_line(path.c_str(), status.buffer, sizeof status.buffer);
  status.cpus = value_of(text, "Cpus_allowed_list");
  status.nodes = value_of(text, "Mems_allowed_list");
}

template <class Each>
void each(const NodeMask& nodes, const Each& what) {
  for (unsigned node = nodes.next(0); node < NodeMask::kNodes; node = nodes.next(node + 1)) what(node);
}

// The distances of a node stand in the order of the online nodes, without their numbers.
std::uint32_t nearest(const char* root, unsigned node, const Topology& topology) {
  Path path;
  path << root << kNodes << "node" << node << "/distance";
  char buffer[kListCapacity];
  std::string_view text = read_line(path.c_str(), buffer, sizeof buffer);
  std::uint64_t least = 0;
  each(topology.online, [&](unsigned other) {
    text = config::trim(text);
    const config::Parsed distance = config::take_digits(text);
    if (distance.verdict != config::Verdict::ok || !topology.home.has(other)) return;
    if (least == 0 || distance.value < least) least = distance.value;
  });
  return least <= UINT32_MAX ? static_cast<std::uint32_t>(least) : 0;
}

// A directory says EISDIR, what is not there ENOENT.
bool is_there(const Path& path) {
  char buffer[8];
  std::size_t length = 0;
  const int error = os::read_file(path.c_str(), buffer, sizeof buffer, &length);
  return error == 0 || error == EISDIR || error == EFBIG;
}

// Class 1 is told for the nearest processors; class 0 for the nearest initiator, which may be a device.
bool read_speed(const char* root, unsigned node, const char* access_class, const Topology& topology, Node& into) {
  text::Buffer<448> folder;
  folder << root << kNodes << "node" << node << '/' << access_class << "/initiators/";
  const auto figure = [&](const char* name) {
    Path path;
    path << folder.view() << name;
    return read_number(path);
  };
  into.speed = {figure("read_bandwidth"), figure("write_bandwidth"), figure("read_latency"), figure("write_latency")};
  if (!into.speed.known()) return false;
  bool named = false;
  each(topology.with_cpus, [&](unsigned other) {
    Path path;
    path << folder.view() << "node" << other;
    if (!is_there(path)) return;
    named = true;
    if (topology.home.has(other)) into.speed_is_ours = true;
  });
  if (!named) into.speed_is_ours = true;  // nobody else claims it
  return true;
}

void read_tiers(const char* root, Topology& topology) {
  for (unsigned tier = 0; tier < kMostTiers; ++tier) {
    Path path;
    path << root << kTiers << tier << "/nodelist";
    NodeMask members;
    if (!read_mask(path, members)) continue;
    each(members, [&](unsigned node) { topology.nodes[node].memory_tier = static_cast<std::int32_t>(tier); });
  }
}

void read_processors(const char* root, unsigned node, std::string_view allowed, Topology& topology) {
  Path path;
  path << root << kNodes << "node" << node << "/cpulist";
  char buffer[kListCapacity];
  const std::string_view cpus = read_line(path.c_str(), buffer, sizeof buffer);
  if (cpus.empty()) return;
  topology.with_cpus.set(node);
  if (allowed.empty() || overlap(cpus, allowed)) topology.home.set(node);
}

}  // namespace

NodeMask Topology::usable() const {
  NodeMask nodes_of_use;
  each(allowed, [&](unsigned node) {
    if (with_memory.has(node)) nodes_of_use.set(node);
  });
  return nodes_of_use;
}

bool read_node_memory(const char* root, unsigned node, std::uint64_t* bytes, std::uint64_t* free_bytes) {
  Path path;
  path << root << kNodes << "node" << node << "/meminfo";
  char buffer[kListCapacity];
  const std::string_view text = read_line(path.c_str(), buffer, sizeof buffer);
  return kilobytes(value_of(text, "MemTotal"), bytes) && kilobytes(value_of(text, "MemFree"), free_bytes);
}

bool read_topology(const char* root, Topology* topology) {
  topology->online = topology->allowed = topology->with_cpus = topology->home = topology->with_memory = NodeMask();
  for (Node& node : topology->nodes) node = Node();
  Path path;
  path << root << kNodes << "online";
  if (!read_mask(path, topology->online)) return false;
  Status status;
  read_status(root, status);
  NodeMask allowed;
  if (status.nodes.empty() || !parse_kernel_list(status.nodes, allowed)) allowed = topology->online;
  each(topology->online, [&](unsigned node) {
    if (allowed.has(node)) topology->allowed.set(node);
    Node& of_node = topology->nodes[node];
    if (read_node_memory(root, node, &of_node.bytes, &of_node.free_bytes) && of_node.bytes > 0) {
      topology->with_memory.set(node);
    }
    read_processors(root, node, status.cpus, *topology);
  });
  each(topology->online, [&](unsigned node) {
    Node& of_node = topology->nodes[node];
    of_node.distance = nearest(root, node, *topology);
    if (!read_speed(root, node, "access1", *topology, of_node)) read_speed(root, node, "access0", *topology, of_node);
  });
  read_tiers(root, *topology);
  return true;
}

}  // namespace hearth::tier
