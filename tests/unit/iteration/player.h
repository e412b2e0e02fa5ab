// Player: plays the events of a training loop to a detector and keeps what it closed.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "iteration/detector.h"

namespace hearth::iteration {

// The same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }

 private:
  std::mt19937 engine_;
};

class Player {
 public:
  explicit Player(std::uint32_t cached_signatures = 16) { ready = detector.init(cached_signatures); }

  void op(std::uint32_t name, std::uint32_t depth = 0) {
    if (detector.op(NameId{name}, depth)) note();
    ++ops;
  }
  void ops_from(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) op(first + i);
  }
  // An op that makes a tensor and one that dies with it, as in a loop whose memory balances.
  void transient(std::uint32_t name, std::size_t bytes) {
    op(name);
    allocate(bytes);
    free();
  }
  void transients_from(std::uint32_t first, std::uint32_t count, std::size_t bytes) {
    for (std::uint32_t i = 0; i < count; ++i) transient(first + i, bytes + 64 * i);
  }
  void allocate(std::size_t bytes) {
    if (detector.allocation(bytes)) note();
  }
  void free() { detector.deallocation(); }
  void step(std::uint64_t optimizer, std::uint32_t name, const std::function<void()>& inside) {
    step_begin(optimizer, name);
    inside();
    step_end(optimizer, name);
  }
  void step_begin(std::uint64_t optimizer, std::uint32_t name) {
    if (detector.step_begin(optimizer, NameId{name})) note();
  }
  void step_end(std::uint64_t optimizer, std::uint32_t name) {
    if (detector.step_end(optimizer, NameId{name})) note();
  }

  const Closed& last() const { return closed.back(); }
  std::vector<std::uint64_t> lengths() const {  // ops between the boundaries
    std::vector<std::uint64_t> result;
    for (std::size_t i = 1; i < ops_at.size(); ++i) result.push_back(ops_at[i] - ops_at[i - 1]);
    return result;
  }

  Detector detector;
  bool ready = false;
  std::uint64_t ops = 0;
  std::vector<Closed> closed;
  std::vector<std::uint64_t> ops_at;  // ops begun before each boundary

 private:
  void note() {
    closed.push_back(detector.closed());
    ops_at.push_back(ops);
  }
};

}  // namespace hearth::iteration
