#include "scale/depth.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "scale/deep_trace.h"
#include "scale/depth_times.h"
#include "scale/idle.h"
#include "scale/links.h"
#include "scale/lives.h"
#include "scale/origin.h"
#include "scale/structure.h"

namespace hearth::scale {
namespace {

using profile::Trace;

constexpr std::uint64_t kMostAlone = 100;           // one event in so many
constexpr std::uint64_t kMostEvents = 100'000'000;  // that are added

bool is_whole(double number) { return number == std::floor(number) && number < 1e9; }

std::uint64_t count_ops(const Trace& trace) {
  return static_cast<std::uint64_t>(
      std::count_if(trace.events.begin(), trace.events.end(),
                    [](const hearth_event& event) { return event.type == HEARTH_EVENT_OP_BEGIN; }));
}

std::string no_way_to(const Sizes& depths, double layers) {
  const double below = depths.large + std::floor((depths.target - depths.large) / layers) * layers;
  const auto text = [](double number) { return std::to_string(std::llround(number)); };
  return "the two traces tell of " + text(layers) + " layers at a time, which lead to " +
         (below > depths.large ? text(below) + " or " : "") + text(below + layers) + ", not to " + text(depths.target);
}

// What of the structure does not lead to the target; empty if all does.
std::string problem_of(const Structure& structure, const DepthFacts& facts, const Sizes& depths) {
  if (facts.alone > facts.compared / kMostAlone) {
    return "the two traces do not match: " + std::to_string(facts.alone) +
           " events of both neither repeat nor have a counterpart; trace the same program at two depths";
  }
  const double layers = (depths.large - depths.small) / structure.repeats.inserted_units;
  return is_whole((depths.target - depths.large) / layers) ? "" : no_way_to(depths, layers);
}

// What does not live as tensors do, where the deeper trace's do, or as long as both foretell; empty if all is well.
std::string unsound(const Trace& small, const Trace& large, const Trace& made, double times) {
  const Lives at_small = lives_of(small.events);
  const Lives at_large = lives_of(large.events);
  const Lives at_target = lives_of(made.events);
  const auto foretold = [times](auto a, auto b) {
    return std::llround(static_cast<double>(b) + times * (static_cast<double>(b) - static_cast<double>(a)));
  };
  if (static_cast<long long>(at_target.wrong) > std::max(0LL, foretold(at_small.wrong, at_large.wrong))) {
    return "tensors of the extrapolated trace are used before they are born, or after their end: the layers of the two "
           "are "
           "not what they seem";
  }
  const long long left = foretold(at_small.left, at_large.left);
  if (left == at_target.left) return "";
  return "the extrapolated trace leaves " + std::to_string(at_target.left) +
         " bytes more alive at its end than at its begin, and not " + std::to_string(left) +
         " as the two traces foretell";
}

// The trace of the target, or nothing where a tensor of it would come from nowhere.
std::optional<Trace> trace_of(const Trace& small, const Trace& large, const Both& both, const Structure& structure,
                              const Sizes& depths, std::int64_t units) {
  const Cut cut{structure.after, units};
  const Deepener deepener(structure.layers, structure.patterns, cut, both.large.places.size());
  const auto tensors = deepener.deepened(both.large_links);
  if (!tensors) return std::nullopt;
  const auto sequences = deepener.deepened(links_of(large, both.large.places, Link::kSequence));
  const std::vector<Step> small_steps = walk(small);
  const std::vector<Step> large_steps = walk(large);
  const std::vector<std::uint32_t>& partners = structure.repeats.partners;
  const std::vector<double> times =
      depth_times({small, small_steps, both.small.places}, {large, large_steps, both.large.places}, partners,
                  structure.layers, *tensors, depths);
  const Gathered gathered = gathered_of(small, both.small.places, large, both.large.places, partners, depths);
  const auto idle = idle_ones(small, large, static_cast<double>(units) / structure.repeats.inserted_units);
  ModuleNames names(large, both.large.places, structure.layers, cut);
  Trace made{large.info, 0, {}, {}};
  made.info.extrapolated = origin_text("depths", depths);
  made.events = deep_events(
      {large, both.large.places, deepener, *tensors, sequences ? &*sequences : nullptr, times, gathered, names, idle});
  made.names = names.names();
  return made;
}

void add_figures(DepthFacts& facts, const Trace& small, const Trace& large, const Trace& made) {
  const auto of_unit = [&facts](std::uint64_t more, std::uint64_t fewer) { return (more - fewer) / facts.units; };
  facts.events = of_unit(made.events.size(), large.events.size());
  facts.ops = of_unit(count_ops(made), count_ops(large));
  facts.tensors = of_unit(lives_of(made.events).tensors, lives_of(large.events).tensors);
  facts.small_ns = total_ns(walk(small));
  facts.large_ns = total_ns(walk(large));
  facts.target_ns = total_ns(walk(made));
}

}  // namespace

Result<Deep> scale_depth(const Trace& small, const Trace& large, const Sizes& depths) {
  if (const std::string problem = misfit(small, large); !problem.empty()) return Error{problem};
  if (!is_whole(depths.small) || !is_whole(depths.large) || !is_whole(depths.target)) {
    return Error{"depths are whole numbers of layers"};
  }
  const auto steps = static_cast<std::uint32_t>(depths.large - depths.small);
  Both both = both_of(small, large, Kinds::Of::kDepths);
  Result<Structure> structure = structure_of(both, steps);
  if (!structure) {
    // Ends of a stack differ in how often their tensors are used: it takes more layers to see what is between them.
    both = both_of(small, large, Kinds::Of::kDepthsByUse);
    Result<Structure> by_use = structure_of(both, steps);
    if (!by_use) return Error{structure.error()};
    structure = std::move(by_use);
  }
  const Repeats& repeats = structure->repeats;
  DepthFacts facts;
  facts.compared = both.small.kinds.size() + both.large.kinds.size();
  facts.alone = repeats.alone.size() + repeats.large_alone;
  facts.phases = repeats.stretches.size();
  facts.stacks = structure->layers.groups();
  if (const std::string problem = problem_of(*structure, facts, depths); !problem.empty()) return Error{problem};
  facts.layers = (depths.large - depths.small) / repeats.inserted_units;
  const auto units = static_cast<std::int64_t>((depths.target - depths.large) / facts.layers);
  facts.units = static_cast<std::uint64_t>(units);
  std::uint64_t unit = 0;
  for (const Stretch& stretch : repeats.stretches) unit += stretch.period;
  if (facts.units > kMostEvents / unit) {
    return Error{"the extrapolated trace would have more than " + std::to_string(kMostEvents) + " events"};
  }
  std::optional<Trace> made = trace_of(small, large, both, *structure, depths, units);
  if (!made)
    return Error{"a tensor of the extrapolated trace would come from nowhere: trace two depths that have more layers"};
  const std::string problem = unsound(small, large, *made, static_cast<double>(units) / repeats.inserted_units);
  if (!problem.empty()) return Error{problem};
  add_figures(facts, small, large, *made);
  return Deep{std::move(*made), facts};
}

}  // namespace hearth::scale
