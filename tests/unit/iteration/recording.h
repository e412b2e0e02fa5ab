// Recordings of real PyTorch loops (tests/data/loops, made by tests/torch/loops/recorder.cpp and compact.py, which
// describe the format): read here, and played to a detector.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "unit/iteration/player.h"

namespace hearth::iteration {

struct RecordedEvent {
  char kind = 0;  // o, n, a, f, S, E
  std::uint64_t value = 0;
  std::uint64_t optimizer = 0;
};

inline std::vector<RecordedEvent> read_recording(const std::string& path) {
  std::vector<RecordedEvent> events;
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (word == "#") {
      std::getline(file, word);
      continue;
    }
    std::size_t used = 0;
    RecordedEvent event{word[0], std::stoull(word.substr(1), &used), 0};
    if (++used < word.size()) event.optimizer = std::stoull(word.substr(used + 1));
    if (event.kind != '<') {
      events.push_back(event);
      continue;
    }
    for (std::uint64_t i = 0; i < event.optimizer; ++i) events.push_back(events.at(events.size() - event.value));
  }
  return events;
}

enum class Identities { known, unknown };

inline void play(Player& loop, const std::vector<RecordedEvent>& events, Identities identities) {
  const auto identity = [&](const RecordedEvent& event) {
    return identities == Identities::known ? event.optimizer : 0;
  };
  for (const RecordedEvent& event : events) {
    const auto name = static_cast<std::uint32_t>(event.value);
    switch (event.kind) {
      case 'o':
        loop.op(name);
        break;
      case 'n':
        for (std::uint64_t i = 0; i < event.value; ++i) loop.op(name, 1);
        break;
      case 'a':
        loop.allocate(event.value);
        break;
      case 'f':
        for (std::uint64_t i = 0; i < event.value; ++i) loop.free();
        break;
      case 'S':
        loop.step_begin(identity(event), name);
        break;
      case 'E':
        loop.step_end(identity(event), name);
        break;
      default:
        break;
    }
  }
}

}  // namespace hearth::iteration
