// PageLists: pages by how they were used of late, in two lists as kernels keep them, and the moves that follow. The
// rival that plans are measured against: it knows accesses alone, neither tensors nor iterations.
//
//   fast, inactive  a unit enters at the head when it first becomes fast; a second access activates it
//   fast, active    is kept no longer than the inactive list, which its tail refills whatever its accesses (as Linux
//   does
//                   for anonymous memory)
//   slow            a second access asks for a move to the fast tier, where the unit is active (TPP, Maruf et al.,
//   ASPLOS
//                   2023, section 5.3)
//
// Where free room falls below a low watermark, units leave from the tail of the inactive list until it reaches a high
// one; one that was used since it entered is spared once. Watermarks are apart from what allocations may take, which is
// all there is (TPP, section 5.2). A promotion that finds no room is dropped and calls for room instead. All moves go
// through the migrator, asynchronously, and within its books.
//
// Ops that follow each other closely are one access (a correlated reference: O'Neil et al., SIGMOD 1993,
// section 2.1.1), as they are to a kernel that samples. Memory given back to the kernel leaves the lists when they come
// to it.
//
// Thread-safety: init and add_range from one thread, before use and between uses; all else from any. A thread that
// finds another at it returns at once and its access goes unseen; only add() waits for that. No malloc, no system call
// but the migrator's wake-up.
#pragma once

#include <atomic>
#include <cstdint>

#include "migrate/migrator.h"
#include "tier/pages.h"

namespace hearth::migrate {

struct ListStats {
  std::uint64_t active = 0, inactive = 0;  // bytes of units in each list now
  std::uint64_t accesses = 0;              // of units, those that count
  std::uint64_t activated = 0, deactivated = 0;
  std::uint64_t promotions = 0, demotions = 0;  // units asked for
  std::uint64_t held_back = 0;                  // promotions for which there was no room, or too many asked for already
};

class PageLists {
 public:
  // As small as pages that have nothing to do with each other need, as large as lists of them stay cheap.
  static constexpr std::uint64_t kUnit = std::uint64_t{64} << 10;
  static constexpr std::uint32_t kTogether = 16;                                // ops: closer accesses are one
  static constexpr std::uint32_t kScan = 128;                                   // units looked at at once to make room
  static constexpr std::uint32_t kFlights = 64;                                 // moves under way at once
  static constexpr std::uint64_t kLongestPromotion = tier::Backend::kMoveUnit;  // and no more than the high watermark
  // Percent of the capacity: demote_scale_factor of TPP's kernel is 2.
  static constexpr std::uint64_t kLowWatermark = 2;
  static constexpr std::uint64_t kHighWatermark = 4;

  constexpr PageLists() = default;

  // `promoted_per_second`: bytes at most, as kernel.numa_balancing_promote_rate_limit_MBps.
  void init(tier::Pages& pages, Migrator& migrator, std::uint64_t promoted_per_second);
  // Pages of this range take part. False if there is no address space for the lists.
  bool add_range(const void* base, std::uint64_t bytes);

  // An op begins.
  void tick() { clock_.store(clock_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  // The op uses the pages; of `parts` pieces of them, where that is fewer than they have units, nobody knows which:
  // they are taken to lie apart evenly. 0: all of it.
  void touch(tier::Extent pages, std::uint64_t parts = 0);
  // The pages have just been given their tier. `balance`: and room may be made for the next ones.
  void add(tier::Extent pages, bool balance);

  ListStats stats() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kRangeShift = 28;  // a unit's number: range, then place in it
  static constexpr std::uint32_t kRangeUnits = 1U << kRangeShift;

  enum class Where : std::uint8_t { nowhere, inactive, active };
  struct Unit {
    std::uint32_t before = kNone;  // towards the head; the first two are valid in a list only
    std::uint32_t after = kNone;
    std::uint32_t used = 0;  // clock of the last access
    Where where = Where::nowhere;
    bool referenced = false;
  };
  struct Range {
    std::uintptr_t base = 0;
    std::uint32_t units = 0;
    Unit* table = nullptr;
  };
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::atomic<std::uint32_t> count{0};
  };
  struct Flight {
    Ticket ticket;
    std::uint32_t first = 0;
    std::uint64_t bytes = 0;
    tier::Tier to = tier::Tier::none;
  };
  // Units next to each other.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  Unit& unit(std::uint32_t number) { return ranges_[number >> kRangeShift].table[number & (kRangeUnits - 1)]; }
  tier::Extent extent_of(std::uint32_t first, std::uint32_t count = 1) const;
  Run units_of(tier::Extent pages) const;
  List& list(Where where) { return lists_[where == Where::active ? 1 : 0]; }
  void link(std::uint32_t number, Where where);
  void unlink(std::uint32_t number);

  bool wants_promotion(std::uint32_t number);
  void use(std::uint32_t number);
  void promote(Run run);
  bool may_promote(std::uint64_t bytes);
  bool within_rate(std::uint64_t bytes);

  std::uint64_t watermark(std::uint64_t percent, std::uint64_t least) const;
  std::int64_t room() const;
  void land();
  void make_room(std::uint64_t wanted);
  void refill_inactive();
  bool demote(std::uint32_t number);
  bool try_enter() { return !busy_.exchange(true, std::memory_order_acquire); }
  void enter();
  void leave() { busy_.store(false, std::memory_order_release); }

  tier::Pages* pages_ = nullptr;
  Migrator* migrator_ = nullptr;
  std::uint64_t rate_ = 0;
  std::uint64_t second_ = 0;  // that `promoted_` counts for
  std::uint64_t promoted_ = 0;
  Range ranges_[tier::Pages::kRanges];
  std::uint32_t range_count_ = 0;
  Flight flights_[kFlights];
  std::uint32_t flight_count_ = 0;
  std::uint32_t hand_ = 0;  // which of the evenly spread units are meant this time

  alignas(64) std::atomic<bool> busy_{false};
  List lists_[2];  // inactive, active
  std::atomic<std::uint32_t> clock_{kTogether};

  // Written by whoever is at it, read by all.
  struct Count {
    std::atomic<std::uint64_t> value{0};
    void add(std::uint64_t n) { value.store(get() + n, std::memory_order_relaxed); }
    std::uint64_t get() const { return value.load(std::memory_order_relaxed); }
  };
  Count accesses_, activated_, deactivated_, promotions_, demotions_, held_back_;
};

}  // namespace hearth::migrate
