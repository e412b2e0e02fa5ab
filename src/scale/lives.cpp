#include "scale/lives.h"

#include <unordered_map>
#include <unordered_set>

namespace hearth::scale {

Lives lives_of(std::span<const hearth_event> events) {
  Lives lives;
  std::unordered_set<std::uint32_t> known;
  std::unordered_map<std::uint32_t, std::int64_t> alive;  // their bytes
  for (const hearth_event& event : events) {
    const auto bytes = static_cast<std::int64_t>(event.bytes);
    switch (event.type) {
      case HEARTH_EVENT_LIVE:
      case HEARTH_EVENT_ALLOC:
        if (!known.insert(event.tensor).second) ++lives.wrong;
        alive.emplace(event.tensor, bytes);
        ++lives.tensors;
        if (event.type == HEARTH_EVENT_ALLOC) lives.left += bytes;
        break;
      case HEARTH_EVENT_FREE:
        if (const auto found = alive.find(event.tensor); found != alive.end()) {
          lives.left -= found->second;
          alive.erase(found);
        } else {
          ++lives.wrong;
        }
        break;
      case HEARTH_EVENT_OPERAND:
        if (event.tensor != HEARTH_NO_ID && !alive.contains(event.tensor)) ++lives.wrong;
        break;
      default:
        break;
    }
  }
  return lives;
}

}  // namespace hearth::scale
