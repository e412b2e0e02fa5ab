#include "scale/links.h"

#include <optional>
#include <unordered_map>

namespace hearth::scale {
namespace {

std::optional<std::int64_t> identity(const hearth_event& event, Link link) {
  if (link == Link::kSequence) {
    if (event.type != HEARTH_EVENT_OP_BEGIN || event.value < 0) return std::nullopt;
    return event.value;
  }
  if (event.tensor == HEARTH_NO_ID) return std::nullopt;
  return event.tensor;
}

}  // namespace

std::vector<std::uint32_t> links_of(const profile::Trace& trace, std::span<const std::uint32_t> places, Link link) {
  std::vector<std::uint32_t> links(places.size(), kAlone);
  std::unordered_map<std::int64_t, std::uint32_t> first;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const auto id = identity(trace.events[places[i]], link);
    if (id) links[i] = first.try_emplace(*id, i).first->second;
  }
  return links;
}

}  // namespace hearth::scale
