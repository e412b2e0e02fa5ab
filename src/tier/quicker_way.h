// Which of the kernel's two ways of moving a whole unit is the quicker one here: move_pages, or mbind with
// MPOL_MF_MOVE, which sets up less for each page but binds the range as well. The first moves of each direction are
// made by one and the other in turn and timed; the least time decides, and mbind has to be better by a tenth.
//
// What mbind binds apart is a mapping of its own for the kernel, which permits a process 65530 of them by default. So
// no more than kMostBound different units are ever moved by it: half of that limit at worst.
//
// Thread-safety: any thread; no lock, no malloc. Two that measure at once at worst make some trials too many.
#pragma once

#include <atomic>
#include <cstdint>

#include "tier/tier.h"

namespace hearth::tier {

class QuickerWay {
 public:
  enum class Way : std::uint8_t { unknown, pages, range };
  static constexpr std::uint32_t kTrials = 6;  // of each way
  static constexpr std::uint32_t kMostBound = 16384;

  constexpr QuickerWay() = default;

  // How the unit with this number (its address by its size) is to move.
  Way choose(std::uint64_t unit, Tier to) {
    Direction& way = directions_[to == Tier::fast ? 0 : 1];
    const Way found = way.found.load(std::memory_order_relaxed);
    const Way turn =
        way.next.fetch_add(found == Way::unknown ? 1 : 0, std::memory_order_relaxed) % 2 == 0 ? Way::pages : Way::range;
    const Way wanted = found == Way::unknown ? turn : found;
    return wanted == Way::range && may_bind(unit) ? Way::range : Way::pages;
  }

  // It took so long, and all of it moved.
  void took(Tier to, Way way, std::uint64_t ns) {
    Direction& direction = directions_[to == Tier::fast ? 0 : 1];
    if (direction.found.load(std::memory_order_relaxed) != Way::unknown) return;
    Trials& trials = way == Way::range ? direction.range : direction.pages;
    std::uint64_t least = trials.least_ns.load(std::memory_order_relaxed);
    while (ns < least && !trials.least_ns.compare_exchange_weak(least, ns, std::memory_order_relaxed)) {
    }
    trials.made.fetch_add(1, std::memory_order_relaxed);
    if (direction.range.made.load(std::memory_order_relaxed) < kTrials) return;
    if (direction.pages.made.load(std::memory_order_relaxed) < kTrials) return;
    const auto by_pages = static_cast<double>(direction.pages.least_ns.load(std::memory_order_relaxed));
    const auto by_range = static_cast<double>(direction.range.least_ns.load(std::memory_order_relaxed));
    direction.found.store(by_range < 0.9 * by_pages ? Way::range : Way::pages, std::memory_order_relaxed);
  }
  // The kernel refused: not again.
  void refuse_range(Tier to) {
    directions_[to == Tier::fast ? 0 : 1].found.store(Way::pages, std::memory_order_relaxed);
  }

  Way found(Tier to) const { return directions_[to == Tier::fast ? 0 : 1].found.load(std::memory_order_relaxed); }

 private:
  // Units by a hash of their number, so that one that moves often counts once; those that share a bit, too.
  bool may_bind(std::uint64_t unit) {
    const std::uint64_t hash = (unit * 0x9e3779b97f4a7c15) >> 48;
    const std::uint64_t bit = std::uint64_t{1} << hash % 64;
    std::atomic<std::uint64_t>& word = seen_[hash / 64];
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return true;
    if (bound_.load(std::memory_order_relaxed) >= kMostBound) return false;
    if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) bound_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  struct Trials {
    std::atomic<std::uint32_t> made{0};
    std::atomic<std::uint64_t> least_ns{~std::uint64_t{0}};
  };
  struct Direction {
    std::atomic<Way> found{Way::unknown};
    std::atomic<std::uint32_t> next{0};
    Trials pages, range;
  };
  Direction directions_[2];  // to fast, to slow
  std::atomic<std::uint64_t> seen_[1024] = {};
  std::atomic<std::uint32_t> bound_{0};
};

}  // namespace hearth::tier
