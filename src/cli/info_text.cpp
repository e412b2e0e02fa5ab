#include "cli/info_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

// Where a key is absent the kernel did not tell.
std::string plain(const Json& object, const char* key) {
  if (!object.contains(key) || object.at(key).is_null()) return "unknown";
  const Json& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string bytes(const Json& object, const char* key) {
  return object.contains(key) ? size_text(object.at(key).get<std::uint64_t>()) : "unknown";
}

void row(std::string& out, std::string_view label, std::string_view value) {
  out += fmt::format("  {:<22}{}\n", label, value);
}

void library(std::string& out, const Json& facts) {
  const Json& found = facts.at("library");
  row(out, "libhearth.so", found.contains("path") ? plain(found, "path") : "NOT FOUND: " + plain(found, "error"));
  if (found.at("adapters").empty())
    row(out, "adapters", "none beside it; build one with: scripts/setup --torch PYTHON");
  for (const Json& adapter : found.at("adapters")) {
    row(out, "adapter",
        fmt::format("PyTorch {}, C++11 ABI {}: {}", plain(adapter, "torch"), plain(adapter, "cxx11_abi"),
                    plain(adapter, "path")));
  }
}

void pytorch(std::string& out, const Json& facts) {
  if (!facts.contains("pytorch")) return;
  const Json& torch = facts.at("pytorch");
  out += "\nPyTorch\n";
  row(out, "python",
      torch.contains("python_version") ? fmt::format("{} ({})", plain(torch, "python"), plain(torch, "python_version"))
                                       : plain(torch, "python"));
  if (torch.contains("error")) {
    row(out, "torch", "none: " + plain(torch, "error"));
    return;
  }
  row(out, "torch",
      fmt::format("{}, C++11 ABI {}, in {}", plain(torch, "version"), plain(torch, "cxx11_abi"),
                  plain(torch, "folder")));
  row(out, "its adapter",
      torch.at("adapter").is_null()
          ? fmt::format("NONE: ops will not be seen; build it with: scripts/setup --torch {}", plain(torch, "python"))
          : plain(torch, "adapter"));
}

void knobs(std::string& out, const Json& facts) {
  out += "\nKnobs in force\n";
  for (const Json& knob : facts.at("knobs")) {
    out += fmt::format("  {:<26}{:<12}{}\n", plain(knob, "name"), knob.at("value") == "" ? "-" : plain(knob, "value"),
                       plain(knob, "origin"));
  }
  for (const Json& problem : facts.at("problems")) out += "  ! " + problem.get<std::string>() + "\n";
}

std::string node_text(const Json& node) {
  const std::string cpus = plain(node, "cpus");
  std::string text = fmt::format("{}, {} free, CPUs {}, distances {}", bytes(node, "bytes"), bytes(node, "free_bytes"),
                                 cpus == "unknown" ? "none" : cpus, plain(node, "distances"));
  if (node.contains("read_mb_per_s")) {
    text += fmt::format(", {} MB/s read, {} MB/s written, {} ns", plain(node, "read_mb_per_s"),
                        plain(node, "write_mb_per_s"), plain(node, "read_latency_ns"));
  }
  if (node.contains("memory_tier")) text += fmt::format(", memory tier {}", plain(node, "memory_tier"));
  if (!node.at("allowed").get<bool>()) text += " (NOT ALLOWED to this process: cpuset)";
  return text;
}

// The kernel's own mover and Hearth's would undo each other's work.
void tiering(std::string& out, const Json& facts) {
  const Json& tiers = facts.at("tiers");
  const Json& machine = facts.at("machine");
  const bool two = !tiers.at("fast").is_null();
  row(out, "tiers",
      two ? fmt::format("fast: nodes {}, slow: nodes {}", plain(tiers, "fast"), plain(tiers, "slow"))
          : "one: " + plain(tiers, "problem"));
  if (two) row(out, "", "by " + plain(tiers, "how"));
  const std::string balancing = plain(machine, "numa_balancing");
  const bool moves = balancing != "0" && balancing != "unknown";
  row(out, "kernel.numa_balancing",
      !moves ? balancing
             : fmt::format("{}: THE KERNEL MOVES PAGES ITSELF and would undo Hearth's moves; sysctl "
                           "kernel.numa_balancing=0",
                           balancing));
  if (machine.contains("numa_demotion")) row(out, "kernel demotion", plain(machine, "numa_demotion"));
}

std::string loaded(const Json& library) {
  if (library.is_null()) return "unknown: it could not be asked";
  return library.at("loaded").get<bool>() ? "installed" : "not installed (not needed)";
}

std::string kind(const Json& memkind, const char* key) {
  if (memkind.at(key).is_null()) return "unknown";
  return memkind.at(key).get<bool>() ? "yes" : "no";
}

void libraries(std::string& out, const Json& facts) {
  const Json& numa = facts.at("libraries").at("libnuma");
  const Json& memkind = facts.at("libraries").at("memkind");
  row(out, "libnuma", loaded(numa));
  std::string text = loaded(memkind);
  if (!memkind.is_null() && memkind.at("loaded").get<bool>()) {
    text += fmt::format(" ({}), sees DAX_KMEM: {}, HBW: {}", plain(memkind, "version"), kind(memkind, "dax_kmem"),
                        kind(memkind, "hbw"));
  }
  row(out, "memkind", text);
}

void machine(std::string& out, const Json& facts) {
  const Json& machine = facts.at("machine");
  out += "\nMachine\n";
  row(out, "kernel", plain(machine, "kernel"));
  row(out, "memory",
      fmt::format("{}, {} available", bytes(machine, "memory_bytes"), bytes(machine, "available_bytes")));
  if (machine.at("nodes").empty()) row(out, "nodes", "unknown: the kernel shows none");
  for (const Json& node : machine.at("nodes")) row(out, "node " + plain(node, "node"), node_text(node));
  tiering(out, facts);
  libraries(out, facts);
  row(out, "page", bytes(machine, "page_bytes"));
  row(out, "huge pages (THP)",
      fmt::format("{}, defrag {}", plain(machine, "transparent_huge_pages"),
                  plain(machine, "transparent_huge_pages_defrag")));
  row(out, "vm.max_map_count", plain(machine, "max_map_count"));
  row(out, "vm.overcommit_memory", plain(machine, "overcommit_memory"));
  const Json& cost = facts.at("page_fault");
  row(out, "page, first touch", fmt::format("{} ns", plain(cost, "first_touch_ns")));
  row(out, "guarded access",
      cost.at("protect_fault_ns").is_null()
          ? "impossible here"
          : fmt::format("{} ns (protect, fault, open)", plain(cost, "protect_fault_ns")));
}

void permissions(std::string& out, const Json& facts) {
  out += "\nPermitted here\n";
  for (const Json& call : facts.at("permitted")) {
    if (call.at("permitted").get<bool>()) {
      out += fmt::format("  yes  {}\n", plain(call, "call"));
      continue;
    }
    out += fmt::format("  NO   {}: {}\n", plain(call, "call"), plain(call, "reason"));
    out += fmt::format("       lost: {}\n", plain(call, "needed_for"));
    if (call.contains("cure")) out += fmt::format("       cure: {}\n", plain(call, "cure"));
  }
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  text::Buffer<32> text;
  text << text::Size{bytes};
  return std::string(text.view());
}

std::string info_text(const Json& facts) {
  std::string out = fmt::format("Hearth {}\n", plain(facts, "version"));
  library(out, facts);
  pytorch(out, facts);
  machine(out, facts);
  permissions(out, facts);
  knobs(out, facts);
  return out;
}

}  // namespace hearth::cli
