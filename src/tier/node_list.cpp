#include "tier/node_list.h"

#include "config/parse.h"

namespace hearth::tier {
namespace {

using config::Parsed;
using config::Verdict;
using os::NodeMask;

constexpr std::string_view kSyntax = "a node list is 0-2,5 or all, !3 (all but), +0 (the first allowed)";

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// "3" or "3-5".
bool parse_range(std::string_view text, Range& range) {
  const bool is_range = text.find('-') != std::string_view::npos;
  const Parsed low = config::parse_integer(config::trim(config::take_until(text, '-')));
  const Parsed high = is_range ? config::parse_integer(config::trim(text)) : low;
  if (low.verdict == Verdict::malformed || high.verdict == Verdict::malformed) return false;
  // Numbers that do not fit are as far from any node as kNodes is.
  range.low = low.verdict == Verdict::ok ? low.value : NodeMask::kNodes;
  range.high = high.verdict == Verdict::ok ? high.value : NodeMask::kNodes;
  return true;
}

// Node number `position` of the set; kNodes if it has fewer.
std::uint64_t nth(const NodeMask& nodes, std::uint64_t position) {
  unsigned node = nodes.next(0);
  for (; position > 0 && node < NodeMask::kNodes; --position) node = nodes.next(node + 1);
  return node;
}

bool add_range(const Range& range, bool relative, const NodeMask& there, const NodeMask& usable, NodeMask& nodes,
               text::Writer& problem) {
  for (std::uint64_t number = range.low; number <= range.high; ++number) {
    const std::uint64_t node = relative ? nth(usable, number) : number;
    if (node >= NodeMask::kNodes || !(relative ? usable : there).has(static_cast<unsigned>(node))) {
      problem << "there is no node " << (relative ? "+" : "") << number << " here; nodes: ";
      write_nodes(problem, there);
      return false;
    }
    nodes.set(static_cast<unsigned>(node));
  }
  return true;
}

bool add_list(std::string_view text, bool relative, const NodeMask& there, const NodeMask& usable, NodeMask& nodes,
              text::Writer& problem) {
  if (text.empty() || text.back() == ',') {
    problem << kSyntax;
    return false;
  }
  while (!text.empty()) {
    const std::string_view part = config::trim(config::take_until(text, ','));
    Range range;
    if (!parse_range(part, range)) {
      problem << "'" << part << "' is no node or range of nodes; " << kSyntax;
      return false;
    }
    if (range.low > range.high) {
      problem << "'" << part << "' ends before it begins";
      return false;
    }
    if (!add_range(range, relative, there, usable, nodes, problem)) return false;
  }
  return true;
}

bool take_prefix(std::string_view& text, char prefix) {
  if (text.empty() || text.front() != prefix) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool parse_nodes(std::string_view text, const NodeMask& there, const NodeMask& usable, NodeMask& nodes,
                 text::Writer& problem) {
  text = config::trim(text);
  const bool inverted = take_prefix(text, '!');
  const bool relative = take_prefix(text, '+');
  NodeMask named;
  if (!relative && config::equal_ignoring_case(text, "all")) {
    named = usable;
  } else if (!add_list(text, relative, there, usable, named, problem)) {
    return false;
  }
  if (inverted) {
    for (std::size_t i = 0; i < std::size(named.words); ++i) named.words[i] = usable.words[i] & ~named.words[i];
  }
  if (named.empty()) {
    problem << "no node is left by this list";
    return false;
  }
  nodes = named;
  return true;
}

bool parse_kernel_list(std::string_view text, NodeMask& nodes) {
  text = config::trim(text);
  NodeMask named;
  while (!text.empty()) {
    Range range;
    if (!parse_range(config::take_until(text, ','), range) || range.low > range.high) return false;
    if (range.high >= NodeMask::kNodes) return false;
    for (std::uint64_t node = range.low; node <= range.high; ++node) named.set(static_cast<unsigned>(node));
  }
  nodes = named;
  return true;
}

void write_nodes(text::Writer& out, const NodeMask& nodes) {
  if (nodes.empty()) out << "none";
  const char* separator = "";
  for (unsigned first = nodes.next(0); first < NodeMask::kNodes;) {
    unsigned last = first;
    while (nodes.has(last + 1)) ++last;
    out << separator << first;
    if (last > first) out << '-' << last;
    separator = ",";
    first = last + 1 < NodeMask::kNodes ? nodes.next(last + 1) : NodeMask::kNodes;
  }
}

}  // namespace hearth::tier
