#include "plan/account.h"

namespace hearth::plan {

const char* reason_name(Reason reason) {
  switch (reason) {
    case Reason::stays:
      return "stays";
    case Reason::moves:
      return "moves";
    case Reason::partly:
      return "partly";
    case Reason::no_gain:
      return "no_gain";
    case Reason::seldom:
      return "seldom";
    case Reason::no_room:
      return "no_room";
    case Reason::no_time:
      return "no_time";
    case Reason::unplanned:
      return "unplanned";
  }
  return "";
}

const char* reason_text(Reason reason) {
  switch (reason) {
    case Reason::stays:
      return "fast all its life";
    case Reason::moves:
      return "moves";
    case Reason::partly:
      return "fast in part";
    case Reason::no_gain:
      return "no gain: in place";
    case Reason::seldom:
      return "too seldom: in place";
    case Reason::no_room:
      return "no room";
    case Reason::no_time:
      return "no time to move";
    case Reason::unplanned:
      return "the heap's";
  }
  return "";
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, kLongestName)) {
    if (c >= ' ' && c != '"' && c != '\\' && c != '\x7f') plain += c;
  }
  return plain;
}

const char* fast_kind_name(std::uint32_t kind) {
  static constexpr const char* kNames[kFastKinds] = {"pool", "short", "activation", "persistent"};
  return kind < kFastKinds ? kNames[kind] : "";
}

}  // namespace hearth::plan
