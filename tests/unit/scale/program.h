// The trace of one iteration, written event by event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "profile/trace_file.h"

namespace hearth::scale {

// Writes the trace of one iteration: ops with times and tensors with bytes that the caller reckons from a size.
class Program {
 public:
  Program() {
    trace_.info.mode = "ops";
    trace_.info.torch_version = "2.13.0";
    trace_.names = {""};
  }

  Program& live(std::uint32_t tensor, double bytes) { return put(HEARTH_EVENT_LIVE, tensor, bytes, kOwnPages); }
  Program& alloc(std::uint32_t tensor, double bytes, std::uint8_t flags = kOwnPages) {
    return put(HEARTH_EVENT_ALLOC, tensor, bytes, flags);
  }
  Program& free(std::uint32_t tensor) { return put(HEARTH_EVENT_FREE, tensor, 0); }
  Program& begin(const std::string& name, std::int64_t sequence = 0) {
    put(HEARTH_EVENT_OP_BEGIN, 0, 0, 0, id(name));
    trace_.events.back().value = sequence;
    return *this;
  }
  Program& end(const std::string& name) { return put(HEARTH_EVENT_OP_END, 0, 0, 0, id(name)); }
  Program& reads(std::uint32_t tensor, double bytes) {
    put(HEARTH_EVENT_OPERAND, tensor, bytes);
    trace_.events.back().access = HEARTH_ACCESS_READ;
    return *this;
  }
  Program& module(const std::string& name, bool enters) {
    return put(enters ? HEARTH_EVENT_MODULE_ENTER : HEARTH_EVENT_MODULE_EXIT, 0, 0, 0, id(name));
  }
  Program& sample(std::uint32_t tensor) { return put(HEARTH_EVENT_SAMPLE, tensor, 0); }
  Program& takes(double ns) { return now_ += static_cast<std::uint64_t>(ns), *this; }
  Program& op(const std::string& name, double ns) { return begin(name).takes(ns).end(name); }
  profile::Trace& trace() { return trace_; }

  static constexpr std::uint8_t kOwnPages = HEARTH_EVENT_FLAG_OWN_PAGES;

 private:
  std::uint32_t id(const std::string& name) {
    const auto found = std::find(trace_.names.begin(), trace_.names.end(), name);
    if (found != trace_.names.end()) return static_cast<std::uint32_t>(found - trace_.names.begin());
    trace_.names.push_back(name);
    return static_cast<std::uint32_t>(trace_.names.size() - 1);
  }

  Program& put(std::uint8_t type, std::uint32_t tensor, double bytes, std::uint8_t flags = 0, std::uint32_t name = 0) {
    hearth_event event{};
    event.time_ns = now_;
    event.type = type;
    event.tensor = tensor;
    event.bytes = static_cast<std::uint64_t>(bytes);
    event.flags = flags;
    event.name = name;
    trace_.events.push_back(event);
    return *this;
  }

  profile::Trace trace_;
  std::uint64_t now_ = 1'000'000;
};

}  // namespace hearth::scale
