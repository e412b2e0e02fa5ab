#include "costs/cycle.h"

#include <algorithm>

namespace hearth::costs {
namespace {

// One op of the main thread, in one part or in two.
struct Whole {
  std::uint32_t op;
  std::uint32_t rest;  // the part at the beginning of the iteration; or `op`
};

const std::string& name_of(const profile::Profile& profile, std::uint32_t op) {
  return profile.names[profile.ops[op].name];
}

// How many of the first ops are the rest of those that the iteration ends in, `around` not counted.
std::size_t rests(const profile::Profile& profile, const std::vector<std::uint32_t>& ops, std::size_t around) {
  const std::vector<std::uint32_t>& open = profile.open;
  for (std::size_t i = around; i < open.size(); ++i) {
    const bool nested = i == 0 || profile.ops[ops[i]].parent == ops[i - 1];
    if (!nested || name_of(profile, ops[i]) != name_of(profile, open[i])) return 0;
  }
  return open.size() - around;
}

std::vector<Whole> cycle(const profile::Profile& profile) {
  std::vector<std::uint32_t> ops;
  for (std::uint32_t op = 0; op < profile.ops.size(); ++op) {
    if (profile.ops[op].thread == 0) ops.push_back(op);
  }
  // Scopes around all of it do not turn.
  std::size_t around = 0;
  while (around < profile.open.size() && profile.open[around] == ops[around]) ++around;
  const std::size_t end = around + rests(profile, ops, around);
  std::vector<Whole> wholes;
  for (std::size_t i = end; i < ops.size(); ++i) wholes.push_back({ops[i], ops[i]});
  for (std::size_t i = around; i < end; ++i) {
    const auto whole = std::lower_bound(wholes.begin(), wholes.end(), profile.open[i],
                                        [](const Whole& each, std::uint32_t op) { return each.op < op; });
    whole->rest = ops[i];
  }
  return wholes;
}

std::uint64_t time_of(const profile::Profile& profile, const Whole& whole) {
  const std::uint64_t rest = whole.rest != whole.op ? profile.ops[whole.rest].self_ns : 0;
  return profile.ops[whole.op].self_ns + rest;
}

}  // namespace

std::vector<std::uint64_t> times_in(const profile::Profile& timed, const profile::Profile& profile) {
  std::vector<Whole> here = cycle(profile);
  const std::vector<Whole> there = cycle(timed);
  if (here.size() != there.size() || here.empty()) return {};
  const std::size_t count = here.size();
  for (std::size_t i = 0; i < count; ++i) here.push_back(Whole{here[i]});
  const auto begin =
      std::search(here.begin(), here.end(), there.begin(), there.end(),
                  [&](const Whole& a, const Whole& b) { return name_of(profile, a.op) == name_of(timed, b.op); });
  if (begin == here.end()) return {};
  std::vector<std::uint64_t> times(profile.ops.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Whole& whole = begin[static_cast<std::ptrdiff_t>(i)];
    times[whole.op] = times[whole.rest] = time_of(timed, there[i]);
  }
  return times;
}

}  // namespace hearth::costs
