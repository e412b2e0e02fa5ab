// Page sampler: which pages of a large tensor are guarded in pages mode.
//
// The first page always, since most accesses begin there (Sentinel, section 3.1), and one random page of each of n
// equal strata of the rest. The draw depends on the tensor's serial number alone: a rerun guards the same pages. The
// share of the strata that an op touches estimates the share of the tensor; docs/profiling.md states its error. Pure
// functions; callable anywhere.
#pragma once

#include <cstdint>

namespace hearth::access {

// The plan for one tensor: page(0) is 0, page(i) for i in 1..strata ascends strictly.
class PageSample {
 public:
  // `pages` > 0 of the tensor; `wanted` strata, all pages if there are no more than that.
  constexpr PageSample(std::uint32_t serial, std::uint64_t pages, std::uint32_t wanted)
      : serial_(serial), rest_(pages - 1), strata_(rest_ < wanted ? static_cast<std::uint32_t>(rest_) : wanted) {}

  constexpr std::uint32_t count() const { return strata_ + 1; }
  constexpr std::uint64_t page(std::uint32_t i) const {
    if (i == 0) return 0;
    const std::uint64_t begin = 1 + edge(i - 1);
    const std::uint64_t length = 1 + edge(i) - begin;
    return begin + mix(std::uint64_t{serial_} << 32 | i) % length;
  }

 private:
  // floor(i * rest / strata) without overflow for any size: split into quotient and remainder.
  constexpr std::uint64_t edge(std::uint64_t i) const {
    return i * (rest_ / strata_) + i * (rest_ % strata_) / strata_;
  }
  // splitmix64's finaliser: neighbouring seeds give independent draws.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint32_t serial_;
  std::uint64_t rest_;
  std::uint32_t strata_;
};

}  // namespace hearth::access
