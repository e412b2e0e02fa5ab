#include "scale/kinds.h"

#include <unordered_set>
#include <utility>

namespace hearth::scale {
namespace {

bool has_name(const hearth_event& event) {
  switch (event.type) {
    case HEARTH_EVENT_OP_BEGIN:
    case HEARTH_EVENT_OP_END:
    case HEARTH_EVENT_STEP_BEGIN:
    case HEARTH_EVENT_STEP_END:
      return true;
    default:
      return is_module(event);
  }
}

bool has_bytes(const hearth_event& event) {
  return event.type == HEARTH_EVENT_ALLOC || event.type == HEARTH_EVENT_OPERAND;
}

constexpr std::uint64_t kFew = 3;

// Tensors that few others are as large and used as often as: ends of stacks, and what all layers use, which is used the
// more often the more there are.
std::unordered_set<std::uint32_t> rare_ones(const profile::Trace& trace) {
  using Use = std::pair<std::uint64_t, std::uint64_t>;  // bytes, and how often
  std::unordered_map<std::uint32_t, Use> uses;
  for (const hearth_event& event : trace.events) {
    Use& use = uses[event.tensor];
    if (event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC) use.first = event.bytes;
    use.second += comparable(event) ? 1 : 0;
  }
  std::map<Use, std::uint64_t> alike;
  for (const auto& [tensor, use] : uses) ++alike[use];
  std::unordered_set<std::uint32_t> rare = {HEARTH_NO_ID};
  for (const auto& [tensor, use] : uses) {
    if (alike[use] < kFew) rare.insert(tensor);
  }
  return rare;
}

// Layers of one kind are told apart by their numbers: "blocks.3.norm1".
std::string without_numbers(const std::string& name) {
  std::string text;
  for (const char letter : name) {
    if (letter < '0' || letter > '9') text += letter;
  }
  return text;
}

}  // namespace

bool is_module(const hearth_event& event) {
  return event.type == HEARTH_EVENT_MODULE_ENTER || event.type == HEARTH_EVENT_MODULE_EXIT;
}

bool comparable(const hearth_event& event) {
  switch (event.type) {
    case HEARTH_EVENT_LIVE:
    case HEARTH_EVENT_FAULT:
    case HEARTH_EVENT_GUARD:
    case HEARTH_EVENT_SAMPLE:
      return false;
    default:
      return true;
  }
}

std::uint64_t Kinds::number(const hearth_event& event, const std::string& name) {
  const bool plain = traces_ == Of::kSizes || !is_module(event);
  const std::uint64_t named =
      has_name(event) ? names_.try_emplace(plain ? name : without_numbers(name), names_.size() + 1).first->second : 0;
  const std::uint64_t access = event.type == HEARTH_EVENT_OPERAND ? event.access : 0;
  return named << 32 | std::uint64_t{event.thread} << 16 | std::uint64_t{event.type} << 8 | access;
}

Compared Kinds::of(const profile::Trace& trace) {
  Compared found;
  std::unordered_map<std::uint32_t, std::uint64_t> born;  // bytes of tensors, which their ends do not tell
  std::unordered_map<std::uint32_t, std::uint64_t> uses;
  const auto rare = rare_ones(trace);
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const hearth_event& event = trace.events[i];
    if (event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC) born[event.tensor] = event.bytes;
    if (!comparable(event)) continue;
    const std::uint64_t plain = number(event, has_name(event) ? trace.names[event.name] : trace.names[0]);
    std::uint64_t bytes = has_bytes(event) ? event.bytes : 0;
    if (event.type == HEARTH_EVENT_FREE) bytes = born[event.tensor];
    const std::uint64_t use = traces_ != Of::kDepthsByUse || rare.contains(event.tensor) ? 0 : ++uses[event.tensor];
    const bool sizes = traces_ == Of::kSizes;
    found.kinds.push_back(sizes ? plain
                                : with_bytes_.try_emplace({plain, bytes, use}, with_bytes_.size()).first->second);
    found.plain.push_back(plain);
    found.places.push_back(i);
  }
  return found;
}

}  // namespace hearth::scale
