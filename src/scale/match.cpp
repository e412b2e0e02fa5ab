#include "scale/match.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "scale/kinds.h"

namespace hearth::scale {
namespace {

using profile::Trace;

constexpr std::uint64_t kMostAlone = 20;     // one in so many
constexpr std::uint64_t kMostEdits = 4'000;  // that align() is let try: it remembers their square

std::unordered_set<std::uint32_t> made_within(const Trace& trace) {
  std::unordered_set<std::uint32_t> found;
  for (const hearth_event& event : trace.events) {
    if (event.type == HEARTH_EVENT_ALLOC) found.insert(event.tensor);
  }
  return found;
}

class Pairs {
 public:
  Pairs(const Trace& small, const Trace& large) : small_made_(made_within(small)), large_made_(made_within(large)) {}

  // Do the tensors of an aligned pair of events belong together?
  bool join(const hearth_event& small, const hearth_event& large) {
    if (large.tensor == HEARTH_NO_ID || small.tensor == HEARTH_NO_ID) return large.tensor == small.tensor;
    const auto found = of_.find(large.tensor);
    if (found != of_.end()) return found->second == small.tensor;
    const bool born = large.type == HEARTH_EVENT_ALLOC;
    const bool before = !large_made_.contains(large.tensor) && !small_made_.contains(small.tensor);
    if ((!born && !before) || !taken_.insert(small.tensor).second) return false;
    of_.emplace(large.tensor, small.tensor);
    return true;
  }

  std::unordered_map<std::uint32_t, std::uint32_t> take() { return std::move(of_); }

 private:
  std::unordered_set<std::uint32_t> small_made_, large_made_, taken_;
  std::unordered_map<std::uint32_t, std::uint32_t> of_;  // small one of each large one
};

std::size_t ops_in(const Trace& trace) {
  return static_cast<std::size_t>(
      std::count_if(trace.events.begin(), trace.events.end(),
                    [](const hearth_event& event) { return event.type == HEARTH_EVENT_OP_BEGIN; }));
}

const Error kTooMany{
    "the two traces do not match: more than a twentieth of their events has no counterpart; trace the same program "
    "at two sizes, or add --depth if one has more layers"};

}  // namespace

Result<Match> match(const Trace& small, std::span<const Step> small_steps, const Trace& large,
                    std::span<const Step> large_steps) {
  Kinds kinds(Kinds::Of::kSizes);
  const Compared a = kinds.of(small);
  const Compared b = kinds.of(large);
  Match found;
  found.compared = a.kinds.size() + b.kinds.size();
  const std::uint64_t limit = found.compared / kMostAlone;
  const auto partners = align(a.kinds, b.kinds, static_cast<std::uint32_t>(std::min(limit, kMostEdits)));
  if (!partners) return kTooMany;
  found.events.assign(large.events.size(), kAlone);
  found.ops.assign(ops_in(large), kAlone);
  Pairs pairs(small, large);
  std::uint64_t together = 0;
  for (std::size_t i = 0; i < b.kinds.size(); ++i) {
    if ((*partners)[i] == kAlone) continue;
    const std::uint32_t from = a.places[(*partners)[i]];
    const std::uint32_t to = b.places[i];
    if (!pairs.join(small.events[from], large.events[to])) continue;
    found.events[to] = from;
    if (large.events[to].type == HEARTH_EVENT_OP_BEGIN) found.ops[large_steps[to].op] = small_steps[from].op;
    together += 2;
  }
  found.tensors = pairs.take();
  found.alone = found.compared - together;
  if (found.alone > limit) return kTooMany;
  return found;
}

}  // namespace hearth::scale
