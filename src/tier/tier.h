// Tier: a kind of memory. Fast is dear and small (DRAM; HBM where DRAM is the large one), slow is cheap and large.
#pragma once

#include <cstdint>

namespace hearth::tier {

enum class Tier : std::uint8_t { none, fast, slow };  // none: no memory yet

constexpr Tier other(Tier tier) {
  if (tier == Tier::none) return Tier::none;
  return tier == Tier::fast ? Tier::slow : Tier::fast;
}

// Bytes of some range by tier.
struct Residency {
  std::uint64_t fast = 0;
  std::uint64_t slow = 0;
  std::uint64_t none = 0;  // pages that were never touched, or were given back

  std::uint64_t total() const { return fast + slow + none; }
  bool operator==(const Residency&) const = default;
};

}  // namespace hearth::tier
