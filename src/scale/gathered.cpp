#include "scale/gathered.h"

#include <cmath>

#include "scale/align.h"

namespace hearth::scale {
namespace {

std::unordered_map<std::uint32_t, std::uint64_t> alive_at_begin(const profile::Trace& trace) {
  std::unordered_map<std::uint32_t, std::uint64_t> bytes;
  for (const hearth_event& event : trace.events) {
    if (event.type == HEARTH_EVENT_LIVE) bytes[event.tensor] = event.bytes;
  }
  return bytes;
}

}  // namespace

Gathered gathered_of(const profile::Trace& small, std::span<const std::uint32_t> small_places,
                     const profile::Trace& large, std::span<const std::uint32_t> large_places,
                     std::span<const std::uint32_t> partners, const Sizes& depths) {
  const auto at_depth = [&](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(std::llround(at_target(depths, static_cast<double>(a), static_cast<double>(b))));
  };
  const auto small_alive = alive_at_begin(small);
  const auto large_alive = alive_at_begin(large);
  Gathered found;
  for (std::uint32_t i = 0; i < partners.size(); ++i) {
    if (partners[i] == kAlone) continue;
    const hearth_event& b = large.events[large_places[i]];
    const hearth_event& a = small.events[small_places[partners[i]]];
    const bool tells = b.type == HEARTH_EVENT_ALLOC || b.type == HEARTH_EVENT_OPERAND;
    if (tells && a.bytes < b.bytes) found.events[i] = at_depth(a.bytes, b.bytes);
    const auto was = small_alive.find(a.tensor);
    const auto is = large_alive.find(b.tensor);
    if (was == small_alive.end() || is == large_alive.end() || was->second >= is->second) continue;
    found.tensors[b.tensor] = at_depth(was->second, is->second);
  }
  return found;
}

}  // namespace hearth::scale
