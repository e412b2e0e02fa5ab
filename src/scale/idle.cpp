#include "scale/idle.h"

#include <cmath>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "scale/kinds.h"

namespace hearth::scale {
namespace {

struct Idle {
  std::int64_t more = 0;
  std::uint32_t tensor = HEARTH_NO_ID;  // one of them
};

std::unordered_set<std::uint32_t> used_in(const profile::Trace& trace) {
  std::unordered_set<std::uint32_t> used;
  for (const hearth_event& event : trace.events) {
    if (comparable(event)) used.insert(event.tensor);
  }
  return used;
}

}  // namespace

std::unordered_map<std::uint32_t, std::uint64_t> idle_ones(const profile::Trace& small, const profile::Trace& large,
                                                           double times) {
  std::map<std::pair<std::string, std::uint64_t>, Idle> found;
  for (const profile::Trace* trace : {&small, &large}) {
    const auto used = used_in(*trace);
    for (const hearth_event& event : trace->events) {
      if (event.type != HEARTH_EVENT_LIVE || used.contains(event.tensor)) continue;
      Idle& idle = found[{trace->names[event.name], event.bytes}];
      idle.more += trace == &large ? 1 : -1;
      if (trace == &large) idle.tensor = event.tensor;
    }
  }
  std::unordered_map<std::uint32_t, std::uint64_t> more;
  for (const auto& [what, idle] : found) {
    if (idle.more > 0)
      more[idle.tensor] = static_cast<std::uint64_t>(std::llround(static_cast<double>(idle.more) * times));
  }
  return more;
}

}  // namespace hearth::scale
