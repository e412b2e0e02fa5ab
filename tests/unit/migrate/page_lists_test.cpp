#include "migrate/page_lists.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace hearth::migrate {
namespace {

using tier::Extent;
using tier::Moved;
using tier::Pages;
using tier::Tier;

constexpr std::uint64_t kUnit = PageLists::kUnit;
constexpr std::uint64_t kMinute = 60'000'000'000;
constexpr std::uint64_t kAnyRate = ~std::uint64_t{0} / 2;

class FreeBackend final : public tier::Backend {
 public:
  const char* name() const override { return "free"; }
  bool tiered() const override { return true; }
  int bind(Extent, Tier) override { return 0; }
  Moved move(Extent pages, Tier) override {
    Moved moved;
    (sticky ? moved.failed : moved.there) = pages.bytes;
    return moved;
  }
  bool forget(Extent) override { return false; }
  bool keeps_copies() const override { return false; }
  bool drop_clean(Extent) override { return false; }
  int locate(const void*, std::size_t count, Tier* tiers) override {
    std::fill_n(tiers, count, Tier::fast);  // asked of those that stayed
    return 0;
  }
  std::atomic<bool> sticky{false};
};

// The migrator's threads outlive a test, so nothing here is ever destroyed.
struct World {
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 40;

  explicit World(std::uint64_t units, std::uint64_t rate = kAnyRate) {
    pages.add_range(reinterpret_cast<void*>(kBase), 1024 * kUnit);
    pages.set_capacity(units * kUnit);
    migrator.init(backend, pages, {.threads = 1});
    lists.init(pages, migrator, rate);
    EXPECT_TRUE(lists.add_range(reinterpret_cast<void*>(kBase), 1024 * kUnit));
  }
  static Extent at(std::uint64_t unit, std::uint64_t count = 1) {
    return tier::extent(kBase + unit * kUnit, kBase + (unit + count) * kUnit);
  }
  // Allocates as first-touch does.
  void place(std::uint64_t unit, std::uint64_t count = 1) {
    for (std::uint64_t i = unit; i < unit + count; ++i) {
      pages.settle(at(i), pages.claim(kUnit) ? Tier::fast : Tier::slow);
    }
    lists.add(at(unit, count), false);
  }
  // An access long after the one before.
  void touch(std::uint64_t unit, std::uint64_t count = 1, std::uint64_t parts = 0) {
    for (std::uint32_t i = 0; i < PageLists::kTogether; ++i) lists.tick();
    lists.touch(at(unit, count), parts);
    settle();
  }
  void settle() { ASSERT_TRUE(migrator.drain(kMinute)); }
  bool fast(std::uint64_t unit) const { return pages.of(at(unit)).fast == kUnit; }

  FreeBackend backend;
  Pages pages;
  Migrator migrator;
  PageLists lists;
};

World& world_of(std::uint64_t units, std::uint64_t rate = kAnyRate) {
  static auto& kept = *new std::vector<World*>;  // its mover is never stopped; where a leak checker finds it
  return *kept.emplace_back(new World(units, rate));
}

TEST(PageLists, UnitsEnterInactiveAndASecondAccessActivates) {
  World& world = world_of(100);
  world.place(0, 10);
  EXPECT_EQ(world.lists.stats().inactive, 10 * kUnit);
  world.touch(0, 2);
  EXPECT_EQ(world.lists.stats().active, 0u);
  world.touch(0, 2);
  EXPECT_EQ(world.lists.stats().active, 2 * kUnit);
  EXPECT_EQ(world.lists.stats().inactive, 8 * kUnit);
  EXPECT_EQ(world.lists.stats().activated, 2u);
}

TEST(PageLists, OpsThatFollowEachOtherAreOneAccess) {
  World& world = world_of(100);
  world.place(0);
  for (std::uint32_t i = 0; i < 3 * PageLists::kTogether; ++i) {
    world.lists.tick();
    world.lists.touch(World::at(0));
  }
  EXPECT_EQ(world.lists.stats().accesses, 1u);
  world.touch(0);
  EXPECT_EQ(world.lists.stats().accesses, 2u);
}

TEST(PageLists, ASlowUnitIsPromotedByItsSecondAccess) {
  World& world = world_of(100);
  world.pages.settle(World::at(7), Tier::slow);
  world.touch(7);
  EXPECT_FALSE(world.fast(7));
  world.touch(7);
  EXPECT_TRUE(world.fast(7));
  EXPECT_EQ(world.lists.stats().active, kUnit);
  EXPECT_EQ(world.lists.stats().promotions, 1u);
}

TEST(PageLists, NeighboursArePromotedTogether) {
  World& world = world_of(1000);  // of which the high watermark is 40
  world.pages.settle(World::at(0, 100), Tier::slow);
  world.touch(0, 100);
  world.touch(0, 100);
  EXPECT_EQ(world.pages.of(World::at(0, 100)).fast, 100 * kUnit);
  EXPECT_EQ(world.migrator.stats().to_fast.requests,
            (100 * kUnit + PageLists::kLongestPromotion - 1) / PageLists::kLongestPromotion);
}

TEST(PageLists, AtTheLowWatermarkTheTailLeavesUntilTheHighOne) {
  World& world = world_of(100);
  world.place(0, 100);  // full
  world.lists.touch(World::at(99));
  world.settle();
  EXPECT_EQ(world.pages.fast_bytes(), 96 * kUnit);
  for (std::uint64_t unit = 0; unit < 4; ++unit) EXPECT_FALSE(world.fast(unit)) << unit;  // the oldest
  EXPECT_EQ(world.lists.stats().demotions, 4u);
  world.touch(99);
  EXPECT_EQ(world.pages.fast_bytes(), 96 * kUnit) << "above the low watermark nothing leaves";
}

TEST(PageLists, WhatWasUsedIsSparedOnce) {
  World& world = world_of(100);
  world.place(0, 97);
  world.touch(0, 2);
  world.place(97, 3);  // full
  world.touch(99);
  EXPECT_TRUE(world.fast(0));
  EXPECT_TRUE(world.fast(1));
  for (std::uint64_t unit = 2; unit < 6; ++unit) EXPECT_FALSE(world.fast(unit)) << unit;
}

TEST(PageLists, TheActiveListDoesNotOutgrowTheInactiveOne) {
  World& world = world_of(100);
  world.place(0, 98);
  world.touch(0, 90);
  world.touch(0, 90);
  EXPECT_EQ(world.lists.stats().active, 90 * kUnit) << "as long as there is room nobody looks";
  world.place(98, 2);  // full
  world.touch(99);
  EXPECT_EQ(world.lists.stats().deactivated, 40u);
  EXPECT_EQ(world.lists.stats().active, 50 * kUnit);
  EXPECT_EQ(world.lists.stats().inactive, 46 * kUnit);
  for (std::uint64_t unit = 90; unit < 94; ++unit) EXPECT_FALSE(world.fast(unit)) << unit;  // never used
}

TEST(PageLists, APromotionWithoutRoomIsDroppedAndMakesRoomForTheNext) {
  World& world = world_of(100);
  world.place(0, 100);
  world.place(200);  // slow
  ASSERT_FALSE(world.fast(200));
  for (std::uint32_t i = 0; i < PageLists::kTogether; ++i) world.lists.tick();
  world.lists.touch(World::at(200));
  world.settle();
  world.place(300, 4);  // takes what room was made
  ASSERT_EQ(world.pages.fast_bytes(), world.pages.capacity());
  world.touch(200);
  EXPECT_FALSE(world.fast(200));
  EXPECT_EQ(world.lists.stats().held_back, 1u);
  world.touch(200);
  EXPECT_TRUE(world.fast(200));
}

TEST(PageLists, NoMorePromotionsASecondThanAllowed) {
  World& world = world_of(1000, 10 * kUnit);
  world.pages.settle(World::at(0, 500), Tier::slow);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t unit = 0; unit < 500; unit += 5) {
    world.touch(unit, 5);
    world.touch(unit, 5);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const ListStats stats = world.lists.stats();
  EXPECT_GE(stats.promotions, 10u);
  EXPECT_LE(static_cast<double>(stats.promotions), 10 * (seconds + 2));
  EXPECT_EQ(stats.promotions + stats.held_back, 500u);
}

TEST(PageLists, MemoryThatWasGivenBackLeaves) {
  World& world = world_of(100);
  world.place(0, 99);
  world.pages.vacate(World::at(0, 50));
  world.place(200, 51);  // full again
  world.touch(210);
  EXPECT_EQ(world.lists.stats().demotions, 4u);
  for (std::uint64_t unit = 50; unit < 54; ++unit) EXPECT_FALSE(world.fast(unit)) << unit;
  world.touch(10, 2);  // unlisted when the lists came to it, or now
  EXPECT_EQ(world.lists.stats().inactive + world.lists.stats().active, 96 * kUnit);
}

TEST(PageLists, WhatCannotLeaveIsListedAgain) {
  World& world = world_of(100);
  world.backend.sticky = true;
  world.place(0, 100);
  world.lists.touch(World::at(99));
  world.settle();
  EXPECT_EQ(world.pages.fast_bytes(), world.pages.capacity());
  EXPECT_EQ(world.lists.stats().inactive, 96 * kUnit);
  world.backend.sticky = false;
  for (int i = 0; i < 3; ++i) world.touch(99);
  EXPECT_LE(world.pages.fast_bytes(), 98 * kUnit);
  EXPECT_GE(world.lists.stats().inactive + world.lists.stats().active, world.pages.fast_bytes());
}

TEST(PageLists, ScatteredPartsTouchSoManyUnits) {
  World& world = world_of(1000);
  world.place(0, 100);
  world.touch(0, 100, 10);
  EXPECT_EQ(world.lists.stats().accesses, 10u);
  world.touch(0, 100, 1000);
  EXPECT_EQ(world.lists.stats().accesses, 110u);
}

TEST(PageLists, ForeignMemoryIsNone) {
  World& world = world_of(10);
  world.touch(5000);
  world.lists.add(World::at(5000), true);
  EXPECT_EQ(world.lists.stats().accesses, 0u);
}

// Half of what is used fits; threads allocate, give back and use at once.
TEST(PageLists, NeverMoreThanTheCapacity) {
  World& world = world_of(64);
  const auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 4000; ++i) {
      const std::uint64_t unit = seed * 128 + random() % 120;
      const std::uint64_t count = 1 + random() % 8;
      for (int k = 0; k < 8; ++k) world.lists.tick();
      if (i % 64 == 0) world.pages.vacate(World::at(unit, count));
      for (std::uint64_t u = unit; u < unit + count; ++u) {
        if (world.pages.of(World::at(u)).none == kUnit) {
          const std::uint64_t claimed = world.pages.claim_some(kUnit);
          const std::uint64_t settled = world.pages.settle({World::at(u).address, claimed}, Tier::fast);
          world.pages.unclaim(claimed - settled);
          world.pages.settle(World::at(u), Tier::slow);
          world.lists.add(World::at(u), true);
        }
      }
      world.lists.touch(World::at(unit, count));
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  world.settle();
  EXPECT_LE(world.pages.fast_peak(), world.pages.capacity());
  EXPECT_GT(world.lists.stats().promotions, 0u);
  EXPECT_GT(world.lists.stats().demotions, 0u);
  const auto whole = world.pages.of(World::at(0, 1024));
  EXPECT_EQ(whole.fast, world.pages.fast_bytes());
  EXPECT_EQ(whole.slow, world.pages.slow_bytes());
}

// What is used all the time ends up fast, what never is does not stay there.
TEST(PageLists, TheHotSetIsKept) {
  World& world = world_of(100);
  world.place(0, 100);   // cold
  world.place(200, 40);  // hot, and slow at first
  for (int i = 0; i < 30; ++i) world.touch(200, 40);
  EXPECT_EQ(world.pages.of(World::at(200, 40)).fast, 40 * kUnit);
}

}  // namespace
}  // namespace hearth::migrate
