#include "machine/probe.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "machine/crew.h"
#include "tier/node_list.h"

namespace hearth::machine {
namespace {

using os::NodeMask;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLeastBytes = 64 * kMiB;
constexpr unsigned kManyNodes = 4;  // from there on one thread and all threads have to do
constexpr unsigned kMovers = 2;     // threads that move pages, at most

std::string listed(const NodeMask& nodes) {
  text::Buffer<128> text;
  text << (nodes.count() == 1 ? "node " : "nodes ");
  tier::write_nodes(text, nodes);
  return std::string(text.view());
}

NodeMask only(unsigned node) {
  NodeMask mask;
  mask.set(node);
  return mask;
}

std::vector<unsigned> thread_counts(unsigned cores, bool ends_only) {
  std::vector<unsigned> counts{1};
  for (unsigned count = 2; count < cores && !ends_only; count *= 2) counts.push_back(count);
  if (cores > 1) counts.push_back(cores);
  return counts;
}

struct Run {
  const ProbeOptions& options;
  const tier::Topology& topology;
  Measured& measured;
  unsigned repeats;

  void tell(const std::string& text) const {
    if (options.progress) options.progress(text);
  }

  void memory(const NodeMask& nodes) const {
    MemoryMeasured one;
    one.nodes = nodes;
    const bool ends_only = options.quick || topology.usable().count() > kManyNodes;
    for (const unsigned threads : thread_counts(measured.cores, ends_only)) {
      tell("bandwidth of " + listed(nodes) + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
      one.bandwidths.push_back(measure_bandwidth(nodes, threads, measured.bytes, repeats));
    }
    tell("latency of " + listed(nodes));
    one.latency = measure_latency(nodes, measured.bytes, repeats);
    measured.memory.push_back(one);
  }

  void moves() const {
    const bool two = topology.usable().count() > 1;
    for (const PageSize pages : {PageSize::small, PageSize::huge}) {
      for (unsigned threads = 1; threads <= std::min(kMovers, measured.cores); ++threads) {
        tell(std::string(two ? "moves of " : "copies of ") + (pages == PageSize::small ? "4 KiB" : "2 MiB") +
             " pages, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
        const std::size_t bytes = std::min(measured.bytes, (options.quick ? 64 : 128) * kMiB);
        measured.moves.push_back(
            two ? measure_moves(measured.move_from, measured.move_to, pages, threads, bytes, repeats)
                : measure_page_copy(measured.move_from, pages, threads, bytes, repeats));
      }
    }
  }

  void interference() const {
    for (const unsigned threads : {measured.cores - 1, measured.cores}) {
      if (threads == 0) continue;
      tell("a copying thread beside " + std::to_string(threads) + " computing");
      measured.interference.push_back(measure_interference(only(measured.move_from), only(measured.move_to),
                                                           only(measured.move_from), threads, measured.bytes, repeats));
    }
  }
};

// As much as makes the caches small beside it, and no node or memory limit notices; 0 = too little is free.
std::size_t area_bytes(const tier::Topology& topology, bool quick) {
  std::size_t bytes = std::max(kLeastBytes, (quick ? 3 : 4) * cache_bytes());
  const NodeMask nodes = topology.usable();
  for (unsigned node = nodes.next(0); node < NodeMask::kNodes; node = nodes.next(node + 1)) {
    bytes = std::min<std::size_t>(bytes, topology.nodes[node].free_bytes / 4);
  }
  return bytes >= kLeastBytes ? bytes : 0;
}

std::uint64_t capacity(const tier::Topology& topology, const NodeMask& nodes) {
  std::uint64_t bytes = 0;
  for (unsigned node = nodes.next(0); node < NodeMask::kNodes; node = nodes.next(node + 1)) {
    bytes += topology.nodes[node].bytes;
  }
  return bytes;
}

// Without two tiers all memory is one, and moves go between its first two nodes.
void choose(const tier::Topology& topology, const ProbeOptions& options, Measured& measured) {
  measured.choice =
      tier::choose_tiers(topology, std::string_view(options.fast_nodes), std::string_view(options.slow_nodes));
  const NodeMask usable = topology.usable();
  if (!measured.choice.two_tiers()) measured.choice.fast = usable;
  measured.fast_bytes = capacity(topology, measured.choice.fast);
  measured.slow_bytes = capacity(topology, measured.choice.slow);
  measured.move_from = measured.choice.fast.next(0);
  const unsigned next =
      measured.choice.two_tiers() ? measured.choice.slow.next(0) : usable.next(measured.move_from + 1);
  measured.move_to = next < NodeMask::kNodes ? next : measured.move_from;
}

const Bandwidth* widest(const MemoryMeasured* memory) {
  return memory != nullptr && !memory->bandwidths.empty() ? &memory->bandwidths.back() : nullptr;
}

tier::Speed speed_of(const MemoryMeasured* memory) {
  const Bandwidth* bandwidth = widest(memory);
  if (bandwidth == nullptr || !bandwidth->problem.empty()) return {};
  return {bandwidth->read.median, bandwidth->write.median, memory->latency.dependent_ns.median};
}

// One mover and huge pages: how arenas ask for their memory and who moves it unless told otherwise.
void add_moves(const Measured& measured, tier::Machine& machine) {
  for (const Moves& moves : measured.moves) {
    if (!moves.real || moves.threads != 1 || !moves.problem.empty()) continue;
    if (machine.move_to_slow != 0 && moves.pages == PageSize::small) continue;
    machine.move_to_slow = moves.there.median;
    machine.move_to_fast = moves.back.median;
  }
}

}  // namespace

const MemoryMeasured* Measured::of(const NodeMask& nodes) const {
  const auto found = std::find_if(memory.begin(), memory.end(), [&](const auto& one) { return one.nodes == nodes; });
  return found != memory.end() ? &*found : nullptr;
}

Result<Measured> probe(const ProbeOptions& options) {
  const auto topology = std::make_unique<tier::Topology>();
  if (!tier::read_topology("", topology.get()) || topology->usable().empty()) {
    return Error{"the kernel shows no memory nodes (/sys/devices/system/node); mount /sys"};
  }
  Measured measured;
  measured.cores = static_cast<unsigned>(own_processors().size());
  if (options.threads != 0) measured.cores = std::min(measured.cores, options.threads);
  measured.bytes = area_bytes(*topology, options.quick);
  if (measured.bytes == 0)
    return Error{"less than 256 MiB are free on a memory node; end other programs and try again"};
  choose(*topology, options, measured);
  const Run run{options, *topology, measured, options.quick ? 3u : 5u};
  run.tell("first touch of pages");
  measured.fault_ns = measure_first_touch(4096, run.repeats);
  const NodeMask usable = topology->usable();
  for (unsigned node = usable.next(0); node < NodeMask::kNodes; node = usable.next(node + 1)) run.memory(only(node));
  for (const NodeMask& set : {measured.choice.fast, measured.choice.slow}) {
    if (set.count() > 1) run.memory(set);
  }
  run.moves();
  run.interference();
  return measured;
}

tier::Machine machine_of(const Measured& measured, const std::string& name) {
  tier::Machine machine;
  text::Writer(machine.name, sizeof machine.name) << name;
  const MemoryMeasured* fast = measured.of(measured.choice.fast);
  machine.fast = speed_of(fast);
  machine.fast_bytes = measured.fast_bytes;
  if (measured.choice.two_tiers()) {
    machine.slow = speed_of(measured.of(measured.choice.slow));
    machine.slow_bytes = measured.slow_bytes;
    add_moves(measured, machine);
  }
  machine.gemm = measured.gemm.median;
  machine.fault_ns = measured.fault_ns.median;
  if (fast != nullptr && fast->latency.outstanding > 0) machine.outstanding = fast->latency.outstanding;
  if (!measured.interference.empty()) machine.interference = measured.interference.back().part.median;
  machine.cores = measured.cores;
  return machine;
}

std::string verdict(const Measured& measured) {
  if (!measured.choice.two_tiers()) return std::string("one kind of memory: ") + measured.choice.problem;
  const tier::Speed fast = speed_of(measured.of(measured.choice.fast));
  const tier::Speed slow = speed_of(measured.of(measured.choice.slow));
  const std::string names = listed(measured.choice.fast) + " fast, " + listed(measured.choice.slow) + " slow";
  if (fast.read == 0 || slow.read == 0) return "two kinds of memory, " + names + ", but not both could be measured";
  text::Buffer<512> text;
  text << "two kinds of memory, " << names << ": the slow one reads at " << text::Fixed{100 * slow.read / fast.read, 0}
       << " %, writes at " << text::Fixed{100 * slow.write / fast.write, 0} << " %, answers in "
       << text::Fixed{slow.latency_ns / fast.latency_ns, 1} << " times the time";
  if (slow.read > fast.read) {
    text << "; IT IS THE FASTER ONE: set HEARTH_FAST_NODES=";
    tier::write_nodes(text, measured.choice.slow);
  }
  return std::string(text.view());
}

double worst_spread(const Measured& measured) {
  double worst = 0;
  for (const MemoryMeasured& memory : measured.memory) {
    worst = std::max(worst, memory.latency.dependent_ns.spread());
    for (const Bandwidth& bandwidth : memory.bandwidths) {
      for (const Figure* figure : {&bandwidth.read, &bandwidth.write, &bandwidth.copy}) {
        worst = std::max(worst, figure->spread());
      }
    }
  }
  return worst;
}

}  // namespace hearth::machine
