#include "cli/probe_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/info_text.h"
#include "cli/wrap.h"
#include "machine/machine_file.h"
#include "tier/node_list.h"
#include "tier/presets.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;
using machine::Figure;

std::string node_list(const os::NodeMask& nodes) {
  text::Buffer<256> text;
  tier::write_nodes(text, nodes);
  return std::string(text.view());
}

Json figure_facts(const Figure& figure) {
  if (!figure.known()) return nullptr;
  return {{"median", figure.median}, {"least", figure.least}, {"most", figure.most}, {"repeats", figure.repeats}};
}

Json memory_facts(const machine::MemoryMeasured& memory) {
  Json facts = {{"nodes", node_list(memory.nodes)}, {"bandwidth", Json::array()}};
  for (const machine::Bandwidth& bandwidth : memory.bandwidths) {
    Json one = {{"threads", bandwidth.threads},
                {"read", figure_facts(bandwidth.read)},
                {"write", figure_facts(bandwidth.write)},
                {"copy", figure_facts(bandwidth.copy)}};
    if (!bandwidth.problem.empty()) one["problem"] = bandwidth.problem;
    facts["bandwidth"].push_back(one);
  }
  facts["latency_ns"] = figure_facts(memory.latency.dependent_ns);
  facts["outstanding"] = memory.latency.outstanding;
  return facts;
}

const char* page_text(machine::PageSize pages) { return pages == machine::PageSize::small ? "4 KiB" : "2 MiB"; }

Json moves_facts(const machine::Measured& measured) {
  Json list = Json::array();
  for (const machine::Moves& moves : measured.moves) {
    Json one = {{"what", moves.real ? "move_pages" : "copy"},
                {"pages", page_text(moves.pages)},
                {"threads", moves.threads},
                {"from", measured.move_from},
                {"to", measured.move_to},
                {"there", figure_facts(moves.there)},
                {"back", figure_facts(moves.back)}};
    if (!moves.problem.empty()) one["problem"] = moves.problem;
    list.push_back(one);
  }
  return list;
}

// "12.3 GB/s", and the spread where it is worth a word.
std::string rate(const Figure& figure, const char* unit = "GB/s") {
  if (!figure.known()) return "-";
  std::string text = fmt::format("{:.1f} {}", figure.median / 1e9, unit);
  if (figure.spread() > 0.05) text += fmt::format(" ({:.1f}-{:.1f})", figure.least / 1e9, figure.most / 1e9);
  return text;
}

void add_memory(std::string& out, const machine::MemoryMeasured& memory) {
  out += fmt::format("\nNode {}\n  {:<10}{:<24}{:<24}{:<24}\n", node_list(memory.nodes), "threads", "read", "write",
                     "copy");
  for (const machine::Bandwidth& bandwidth : memory.bandwidths) {
    if (!bandwidth.problem.empty()) {
      out += fmt::format("  {:<10}{}\n", bandwidth.threads, bandwidth.problem);
      continue;
    }
    out += fmt::format("  {:<10}{:<24}{:<24}{:<24}\n", bandwidth.threads, rate(bandwidth.read), rate(bandwidth.write),
                       rate(bandwidth.copy));
  }
  const Figure& latency = memory.latency.dependent_ns;
  if (!latency.known()) return;
  out += fmt::format("  a dependent read takes {:.0f} ns ({:.0f}-{:.0f}); one core keeps {:.0f} reads in flight\n",
                     latency.median, latency.least, latency.most, memory.latency.outstanding);
}

void add_moves(std::string& out, const machine::Measured& measured) {
  if (measured.moves.empty()) return;
  const bool real = measured.moves.front().real;
  if (real) {
    out += fmt::format("\nPage moves (move_pages) between node {} and node {}\n", measured.move_from, measured.move_to);
  } else {
    out += "\nCopies of pages: with one node there is nothing to move to\n";
  }
  for (const machine::Moves& moves : measured.moves) {
    out += fmt::format("  {} pages, {} {}: ", page_text(moves.pages), moves.threads,
                       moves.threads == 1 ? "thread" : "threads");
    if (!moves.problem.empty()) {
      out += moves.problem + "\n";
    } else if (real) {
      out += fmt::format("{} there, {} back\n", rate(moves.there), rate(moves.back));
    } else {
      out += rate(moves.there) + "\n";
    }
  }
}

void add_interference(std::string& out, const machine::Measured& measured) {
  for (const machine::Interference& one : measured.interference) {
    if (!one.part.known()) continue;
    out +=
        fmt::format("  beside {} computing on memory: a second of copying ({}) costs them {:.2f} s ({:.2f}-{:.2f})\n",
                    one.threads == 1 ? "1 thread" : fmt::format("{} threads", one.threads), rate(one.copied),
                    one.part.median, one.part.least, one.part.most);
  }
}

}  // namespace

Json measured_facts(const machine::Measured& measured, bool quick) {
  Json facts = {{"quick", quick}, {"cores", measured.cores}, {"area_bytes", measured.bytes}};
  facts["gemm"] = {{"by", measured.gemm_by}, {"flops", figure_facts(measured.gemm)}};
  facts["first_touch_ns"] = figure_facts(measured.fault_ns);
  facts["memory"] = Json::array();
  for (const machine::MemoryMeasured& memory : measured.memory) facts["memory"].push_back(memory_facts(memory));
  facts["moves"] = moves_facts(measured);
  facts["interference"] = Json::array();
  for (const machine::Interference& one : measured.interference) {
    facts["interference"].push_back(
        {{"threads", one.threads}, {"part", figure_facts(one.part)}, {"copied", figure_facts(one.copied)}});
  }
  facts["worst_spread"] = machine::worst_spread(measured);
  facts["verdict"] = machine::verdict(measured);
  return facts;
}

std::string measured_text(const machine::Measured& measured) {
  std::string out =
      fmt::format("{} {}, areas of {}; medians, and least-most where they differ by more than 5 %\n", measured.cores,
                  measured.cores == 1 ? "processor" : "processors", size_text(measured.bytes));
  for (const machine::MemoryMeasured& memory : measured.memory) add_memory(out, memory);
  add_moves(out, measured);
  out += "\nOther\n";
  add_interference(out, measured);
  out += fmt::format("  first touch of a 4 KiB page: {:.0f} ns ({:.0f}-{:.0f})\n", measured.fault_ns.median,
                     measured.fault_ns.least, measured.fault_ns.most);
  out += fmt::format("  float32 matrix product: {}, by {}\n", rate(measured.gemm, "GFLOP/s"), measured.gemm_by);
  if (machine::worst_spread(measured) > machine::kNoisy) {
    out +=
        fmt::format("  NOISY: repeats differ by up to {:.0f} %: something else ran; measure again on an idle machine\n",
                    100 * machine::worst_spread(measured));
  }
  return out + "\nVerdict: " + machine::verdict(measured) + "\n";
}

std::string machine_text(const tier::Machine& machine, const std::string& what) {
  std::string out = what + "\n";
  const auto tier = [&](const char* name, const tier::Speed& speed) {
    out += fmt::format(
        "  {:<6}read {:.2f} GB/s, write {:.2f} GB/s, latency {:.0f} ns, {:.0f} million gathers a second\n", name,
        speed.read / 1e9, speed.write / 1e9, speed.latency_ns, tier::gathers_per_second(machine, speed) / 1e6);
  };
  tier("fast", machine.fast);
  if (machine.two_tiers()) {
    tier("slow", machine.slow);
    out += fmt::format("  moves {:.2f} GB/s to fast, {:.2f} GB/s to slow\n", machine.move_to_fast / 1e9,
                       machine.move_to_slow / 1e9);
  }
  out += fmt::format("  {} cores, {:.0f} GFLOP/s, first touch {:.0f} ns", machine.cores, machine.gemm / 1e9,
                     machine.fault_ns);
  return out + (machine.scale != 1 ? fmt::format(", bandwidths scaled by {:.4f}\n", machine.scale) : "\n");
}

std::string presets_text() {
  std::string out;
  for (const tier::Preset& preset : tier::presets()) {
    out += machine_text(preset.machine, fmt::format("{}: {}", preset.machine.name, preset.what));
    out += "  published: " + wrapped(preset.published, 106, "\n             ") + "\n";
    out += "  derived:   " + wrapped(preset.derived, 106, "\n             ") + "\n\n";
  }
  return out + "To have one scaled to this machine: hearth probe --scale NAME -o FILE\n";
}

Json presets_facts() {
  Json list = Json::array();
  for (const tier::Preset& preset : tier::presets()) {
    Json facts = Json::parse(machine::machine_json(preset.machine, ""))["machine"];
    facts["what"] = preset.what;
    facts["published"] = preset.published;
    facts["derived"] = preset.derived;
    list.push_back(facts);
  }
  return list;
}

}  // namespace hearth::cli
