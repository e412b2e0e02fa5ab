// Writes event sequences the way the runtime logs them, for the tests of the profile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hearth/trace.h"
#include "profile/build.h"

namespace hearth::profile::test {

class Script {
 public:
  Script& on(std::uint16_t thread) { return thread_ = thread, *this; }
  Script& live(std::uint32_t tensor, std::uint64_t bytes) { return put(HEARTH_EVENT_LIVE, tensor, bytes), *this; }
  Script& alloc(std::uint32_t tensor, std::uint64_t bytes) { return put(HEARTH_EVENT_ALLOC, tensor, bytes), *this; }
  Script& free(std::uint32_t tensor) { return put(HEARTH_EVENT_FREE, tensor, 0), *this; }
  Script& begin(const std::string& name, std::uint8_t scope = kScopeFunction, std::int64_t sequence = -1) {
    hearth_event& event = put(HEARTH_EVENT_OP_BEGIN, 0, 0);
    event.name = id(name);
    event.scope = scope;
    event.value = sequence;
    return *this;
  }
  Script& end(const std::string& name) { return put(HEARTH_EVENT_OP_END, 0, 0).name = id(name), *this; }
  Script& operand(std::uint32_t tensor, std::uint8_t access, std::uint64_t bytes, std::uint8_t flags = 0) {
    hearth_event& event = put(HEARTH_EVENT_OPERAND, tensor, bytes);
    event.access = access;
    event.flags = flags;
    return *this;
  }
  Script& fault(std::uint32_t tensor, std::uint8_t access, std::uint32_t page = 0) {
    hearth_event& event = put(HEARTH_EVENT_FAULT, tensor, 0);
    event.access = access;
    event.page = page;
    return *this;
  }
  // Taken so many events ago, and collected now.
  Script& sample(std::uint32_t tensor, std::uint64_t ago = 0) {
    put(HEARTH_EVENT_SAMPLE, tensor, 0).time_ns -= 10 * ago;
    return *this;
  }
  Script& guard(std::uint32_t tensor, hearth_watch watch = HEARTH_WATCH_FIRST_PAGE, std::uint32_t pages = 1) {
    hearth_event& event = put(HEARTH_EVENT_GUARD, tensor, 0);
    event.access = static_cast<std::uint8_t>(watch);
    event.page = pages;
    return *this;
  }
  Script& enter(const std::string& module) { return put(HEARTH_EVENT_MODULE_ENTER, 0, 0).name = id(module), *this; }
  Script& exit(const std::string& module) { return put(HEARTH_EVENT_MODULE_EXIT, 0, 0).name = id(module), *this; }
  // An op that does nothing but pass time.
  Script& op(const std::string& name) { return begin(name).end(name); }

  Profile build(const Thresholds& thresholds = {}, std::uint64_t dropped = 0) const {
    return profile::build(events_, names_, thresholds, dropped);
  }
  const std::vector<hearth_event>& events() const { return events_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::uint32_t id(const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) names_.push_back(name);
    return static_cast<std::uint32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  hearth_event& put(std::uint8_t type, std::uint32_t tensor, std::uint64_t bytes) {
    hearth_event event{};
    event.time_ns = 1000 + 10 * events_.size();
    event.type = type;
    event.tensor = tensor;
    event.bytes = bytes;
    event.thread = thread_;
    events_.push_back(event);
    return events_.back();
  }

  std::vector<hearth_event> events_;
  std::vector<std::string> names_{""};
  std::uint16_t thread_ = 0;
};

inline const Tensor& tensor(const Profile& profile, std::uint32_t serial) {
  return *std::find_if(profile.tensors.begin(), profile.tensors.end(),
                       [&](const Tensor& each) { return each.serial == serial; });
}

inline const Op& op(const Profile& profile, const std::string& name, std::size_t nth = 0) {
  for (const Op& each : profile.ops) {
    if (profile.names[each.name] == name && nth-- == 0) return each;
  }
  return profile.ops.at(profile.ops.size());  // throws: no such op
}

}  // namespace hearth::profile::test
