#include "tier/topology_choice.h"

#include "base/text.h"
#include "tier/node_list.h"

namespace hearth::tier {
namespace {

using os::NodeMask;

// Two figures this far apart are two kinds of memory; what is closer is one kind in different slots.
constexpr double kClearlyFaster = 1.25;
// Sub-NUMA neighbours are 11 to 13 away, another socket 17 and more.
constexpr double kOtherSocket = 1.5;

struct Nodes {  // writes a set: "node 0", "nodes 0-1,4"
  const NodeMask& mask;
};
text::Writer& operator<<(text::Writer& out, Nodes nodes) {
  out << (nodes.mask.count() == 1 ? "node " : "nodes ");
  write_nodes(out, nodes.mask);
  return out;
}

NodeMask without(const NodeMask& nodes, const NodeMask& those) {
  NodeMask rest;
  for (std::size_t i = 0; i < std::size(rest.words); ++i) rest.words[i] = nodes.words[i] & ~those.words[i];
  return rest;
}

NodeMask common(const NodeMask& a, const NodeMask& b) { return without(a, without(a, b)); }

template <class Wanted>
NodeMask select(const NodeMask& nodes, const Wanted& wanted) {
  NodeMask selected;
  for (unsigned node = nodes.next(0); node < NodeMask::kNodes; node = nodes.next(node + 1)) {
    if (wanted(node)) selected.set(node);
  }
  return selected;
}

// The least value of the set that is not 0; 0 if there is none.
template <class Value>
std::uint32_t least(const NodeMask& nodes, const Value& value) {
  std::uint32_t found = 0;
  for (unsigned node = nodes.next(0); node < NodeMask::kNodes; node = nodes.next(node + 1)) {
    const std::uint32_t candidate = value(node);
    if (candidate != 0 && (found == 0 || candidate < found)) found = candidate;
  }
  return found;
}

// Those of the set that are nearest to this process; all of them where distances are not told.
NodeMask nearest(const Topology& topology, const NodeMask& nodes) {
  const auto distance = [&](unsigned node) { return topology.nodes[node].distance; };
  const std::uint32_t shortest = least(nodes, distance);
  return select(nodes, [&](unsigned node) { return distance(node) == shortest || shortest == 0; });
}

struct Figure {
  std::uint32_t ReportedSpeed::*member;
  bool more_is_faster;
  const char* name;
  const char* unit;
};

constexpr Figure kFigures[] = {
    {&ReportedSpeed::read_bandwidth, true, "read bandwidth", "MB/s"},
    {&ReportedSpeed::write_bandwidth, true, "write bandwidth", "MB/s"},
    {&ReportedSpeed::read_latency, false, "read latency", "ns"},
    {&ReportedSpeed::write_latency, false, "write latency", "ns"},
};

// The set cut in two at the largest step of one figure; no cut where no step is clear.
struct Cut {
  double step = 1;
  std::uint32_t last_of_fast = 0;
  std::uint32_t first_of_slow = 0;
};

Cut largest_step(const Topology& topology, const NodeMask& nodes, const Figure& figure) {
  const auto value = [&](unsigned node) { return topology.nodes[node].speed.*figure.member; };
  const auto faster = [&](std::uint32_t a, std::uint32_t b) { return figure.more_is_faster ? a > b : a < b; };
  Cut cut;
  for (unsigned node = nodes.next(0); node < NodeMask::kNodes; node = nodes.next(node + 1)) {
    if (value(node) == 0) return {};  // a figure that some lack decides nothing
    std::uint32_t next = 0;           // the fastest of those that are slower than this one
    for (unsigned other = nodes.next(0); other < NodeMask::kNodes; other = nodes.next(other + 1)) {
      if (faster(value(node), value(other)) && (next == 0 || faster(value(other), next))) next = value(other);
    }
    if (next == 0) continue;
    const double a = value(node);
    const double step = figure.more_is_faster ? a / next : next / a;
    const bool fewer_fast = step == cut.step && faster(value(node), cut.last_of_fast);
    if (step > cut.step || fewer_fast) cut = {step, value(node), next};
  }
  return cut;
}

bool by_speed(const Topology& topology, TierChoice& choice) {
  const NodeMask usable = topology.usable();
  const NodeMask ours = select(usable, [&](unsigned node) { return topology.nodes[node].speed_is_ours; });
  const NodeMask told = select(usable, [&](unsigned node) { return topology.nodes[node].speed.known(); });
  if (ours.count() < 2 || told != usable) return false;
  for (const Figure& figure : kFigures) {
    const Cut cut = largest_step(topology, ours, figure);
    if (cut.step < kClearlyFaster) continue;
    choice.fast = select(ours, [&](unsigned node) {
      const std::uint32_t value = topology.nodes[node].speed.*figure.member;
      return figure.more_is_faster ? value >= cut.last_of_fast : value <= cut.last_of_fast;
    });
    choice.slow = without(ours, choice.fast);
    text::Writer how(choice.how, sizeof choice.how);
    const char* bound[] = {figure.more_is_faster ? "at least " : "at most ",
                           figure.more_is_faster ? "at most " : "at least "};
    how << figure.name << " that the firmware reports: " << bound[0] << cut.last_of_fast << ' ' << figure.unit << " on "
        << Nodes{choice.fast} << ", " << bound[1] << cut.first_of_slow << ' ' << figure.unit << " on "
        << Nodes{choice.slow};
    if (ours != usable) how << "; " << Nodes{without(usable, ours)} << " left out: of another socket";
    return true;
  }
  return false;
}

bool by_memory_tiers(const Topology& topology, TierChoice& choice) {
  const auto rank = [&](unsigned node) { return static_cast<std::uint32_t>(topology.nodes[node].memory_tier + 1); };
  const NodeMask ranked = select(topology.usable(), [&](unsigned node) { return rank(node) != 0; });
  const std::uint32_t first = least(ranked, rank);
  const NodeMask top = select(ranked, [&](unsigned node) { return rank(node) == first; });
  const NodeMask rest = without(ranked, top);
  if (top.empty() || rest.empty()) return false;
  choice.fast = nearest(topology, top);
  choice.slow = nearest(topology, rest);
  text::Writer how(choice.how, sizeof choice.how);
  how << "memory tiers of the kernel: " << Nodes{top} << " in tier " << first - 1 << ", " << Nodes{rest}
      << " in slower ones";
  const bool all = choice.fast == top && choice.slow == rest;
  if (!all) how << "; of each, those nearest to the processors of this process";
  return true;
}

bool by_distance(const Topology& topology, TierChoice& choice) {
  const auto distance = [&](unsigned node) { return topology.nodes[node].distance; };
  const NodeMask usable = topology.usable();
  const std::uint32_t shortest = least(usable, distance);
  const NodeMask near = nearest(topology, usable);
  const NodeMask bare = without(without(usable, near), topology.with_cpus);
  const NodeMask sockets = select(common(without(usable, near), topology.with_cpus),
                                  [&](unsigned node) { return distance(node) >= kOtherSocket * shortest; });
  if (shortest == 0 || (bare.empty() && sockets.empty())) return false;
  choice.fast = near;
  choice.slow = nearest(topology, bare.empty() ? sockets : bare);
  text::Writer how(choice.how, sizeof choice.how);
  how << Nodes{choice.slow} << " at distance " << least(choice.slow, distance) << ", " << Nodes{choice.fast} << " at "
      << shortest << " from the processors of this process";
  if (bare.empty()) {
    how << ": the memory of another socket";
  } else {
    how << ", and without processors: guessed to be slow memory, since nothing tells its speed; if it is the faster "
           "one, "
           "set HEARTH_FAST_NODES=";
    write_nodes(how, choice.slow);
  }
  return true;
}

bool by_processors(const Topology& topology, TierChoice& choice) {
  const NodeMask bare = without(topology.usable(), topology.with_cpus);
  const NodeMask rest = common(topology.usable(), topology.with_cpus);
  if (bare.empty() || rest.empty()) return false;
  choice.fast = rest;
  choice.slow = bare;
  text::Writer how(choice.how, sizeof choice.how);
  how << Nodes{bare} << " without processors: guessed to be slow memory, since neither speed, memory tier nor distance "
      << "tells; if it is the faster one, set HEARTH_FAST_NODES=";
  write_nodes(how, bare);
  return true;
}

constexpr const char* kCpusetCure =
    " hidden from this process by a cpuset; allow them in cpuset.mems of its cgroup "
    "(docker: --cpuset-mems)";

// Whether all named nodes can be used; else the problem.
bool can_use(const Topology& topology, const NodeMask& named, const char* knob, text::Writer& problem) {
  const NodeMask absent = without(named, topology.online);
  const NodeMask hidden = without(common(named, topology.online), topology.allowed);
  const NodeMask empty = without(common(named, topology.allowed), topology.with_memory);
  if (absent.empty() && hidden.empty() && empty.empty()) return true;
  problem << knob << ": ";
  if (!absent.empty()) {
    problem << Nodes{absent} << " not there; this machine has ";
    problem << Nodes{topology.online};
  } else if (!hidden.empty()) {
    problem << Nodes{hidden} << kCpusetCure;
  } else {
    problem << Nodes{empty} << " without memory; nodes that can be used: ";
    write_nodes(problem, topology.usable());
  }
  return false;
}

void by_user(const Topology& topology, const NodeMask& fast, const NodeMask& slow, TierChoice& choice,
             text::Writer& problem) {
  if (!can_use(topology, fast, "HEARTH_FAST_NODES", problem)) return;
  if (!can_use(topology, slow, "HEARTH_SLOW_NODES", problem)) return;
  const NodeMask both = common(fast, slow);
  if (!both.empty()) {
    problem << Nodes{both} << " in both HEARTH_FAST_NODES and HEARTH_SLOW_NODES; name it in one";
    return;
  }
  const NodeMask usable = topology.usable();
  if (without(usable, fast).empty() || without(usable, slow).empty()) {
    problem << (fast.empty() ? "HEARTH_SLOW_NODES" : "HEARTH_FAST_NODES") << " names all memory that can be used, "
            << Nodes{usable} << "; leave some for the other tier";
    return;
  }
  choice.fast = fast.empty() ? without(usable, slow) : fast;
  choice.slow = slow.empty() ? without(usable, fast) : slow;
  text::Writer how(choice.how, sizeof choice.how);
  how << (fast.empty()   ? "HEARTH_SLOW_NODES, the rest is fast"
          : slow.empty() ? "HEARTH_FAST_NODES, the rest is slow"
                         : "HEARTH_FAST_NODES and HEARTH_SLOW_NODES");
}

void too_few(const Topology& topology, text::Writer& problem) {
  const NodeMask usable = topology.usable();
  const NodeMask hidden = without(common(topology.online, topology.with_memory), topology.allowed);
  if (usable.empty()) {
    problem << "the kernel shows no memory node that this process may use";
  } else if (hidden.empty()) {
    problem << "this machine has memory on " << Nodes{usable} << " alone; a second tier can only be emulated";
  } else {
    problem << "this process has " << Nodes{usable} << " alone";
  }
  if (!hidden.empty()) problem << "; " << Nodes{hidden} << kCpusetCure;
}

bool parse_knob(const Topology& topology, const char* knob, std::string_view list, NodeMask& nodes,
                text::Writer& problem) {
  if (list.empty()) return true;
  text::Buffer<320> why;
  if (parse_nodes(list, topology.online, topology.usable(), nodes, why)) return true;
  problem << knob << '=' << list << ": " << why.view();
  return false;
}

}  // namespace

TierChoice choose_tiers(const Topology& topology, const NodeMask& fast, const NodeMask& slow) {
  TierChoice choice;
  text::Writer problem(choice.problem, sizeof choice.problem);
  if (!fast.empty() || !slow.empty()) {
    by_user(topology, fast, slow, choice, problem);
  } else if (topology.usable().count() < 2) {
    too_few(topology, problem);
  } else if (!by_speed(topology, choice) && !by_memory_tiers(topology, choice) && !by_distance(topology, choice) &&
             !by_processors(topology, choice)) {
    problem << "nothing tells " << Nodes{topology.usable()}
            << " apart; name them in HEARTH_FAST_NODES and HEARTH_SLOW_NODES, or bind the program to one socket "
               "(numactl --cpunodebind=N), which makes the memory of the other one slow";
  }
  return choice;
}

TierChoice choose_tiers(const Topology& topology, std::string_view fast, std::string_view slow) {
  NodeMask fast_nodes;
  NodeMask slow_nodes;
  TierChoice refused;
  text::Writer problem(refused.problem, sizeof refused.problem);
  if (!parse_knob(topology, "HEARTH_FAST_NODES", fast, fast_nodes, problem)) return refused;
  if (!parse_knob(topology, "HEARTH_SLOW_NODES", slow, slow_nodes, problem)) return refused;
  return choose_tiers(topology, fast_nodes, slow_nodes);
}

}  // namespace hearth::tier
