#include "scale/alike.h"

#include <vector>

#include "scale/align.h"

namespace hearth::scale {

bool alike(const Strings& strings, const Layers& layers, const Deepened& made) {
  const Repeats& repeats = strings.repeats;
  std::vector<std::uint32_t> partners(made.events.size(), kAlone);  // of each made event the small one
  auto alone = repeats.alone.begin();
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < made.events.size(); ++i) {
    const std::uint32_t event = made.events[i];
    const bool outside = layers.spot(event).outside();
    if (outside && repeats.partners[event] == kAlone) continue;
    for (; alone != repeats.alone.end() && *alone == next; ++alone) ++next;
    const Sequence &small = strings.small, &large = strings.large;
    if (next >= small.kinds.size()) return false;
    if (outside ? small.plain[next] != large.plain[event] : small.kinds[next] != large.kinds[event]) return false;
    partners[i] = next++;
  }
  for (; alone != repeats.alone.end() && *alone == next; ++alone) ++next;
  if (next != strings.small.kinds.size()) return false;
  for (std::uint32_t i = 0; i < made.events.size(); ++i) {
    if (partners[i] == kAlone) continue;
    const std::uint32_t want = strings.small_links[partners[i]];
    const std::uint32_t got = made.links[i];
    if ((want == kAlone) != (got == kAlone)) return false;
    if (want != kAlone && partners[got] != kAlone && partners[got] != want) return false;
  }
  return true;
}

}  // namespace hearth::scale
