#include "migrate/migrator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/os_clock.h"

namespace hearth::migrate {
namespace {

using tier::Extent;
using tier::Moved;
using tier::Pages;
using tier::Tier;

constexpr std::uint64_t kPage = Pages::kPage;
constexpr std::uint64_t kUnit = tier::Backend::kMoveUnit;
constexpr std::uint64_t kSecond = 1'000'000'000;

// Moves nothing, records everything, fails and blocks on demand.
class RecordingBackend final : public tier::Backend {
 public:
  const char* name() const override { return "recording"; }
  bool tiered() const override { return true; }
  int bind(Extent, Tier) override { return 0; }
  Moved move(Extent pages, Tier to) override {
    ++begun;
    while (blocked || (to == Tier::slow && begun > held_after && !fetched)) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    fetched = fetched || to == Tier::fast;
    moves.push_back({pages, to});
    Moved moved;
    moved.calls = 1;
    if (error == 0) {
      moved.there = pages.bytes;
      return moved;
    }
    moved.failed = kPage;
    moved.there = pages.bytes - kPage;
    moved.error = error;
    stuck = pages.begin();
    target = to;
    return moved;
  }
  bool keeps_copies() const override { return drops; }
  bool drop_clean(Extent) override { return drops; }
  bool forget(Extent) override { return true; }
  int locate(const void* address, std::size_t count, Tier* tiers) override {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) + i * kPage;
      tiers[i] = page == stuck && !blind ? tier::other(target) : target;
    }
    return 0;
  }

  struct Move {
    Extent pages;
    Tier to;
  };
  std::mutex mutex;
  std::vector<Move> moves;
  std::atomic<bool> blocked{false};
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> held_after{~std::uint64_t{0}};  // evictions beyond so many moves wait for a fetch
  std::atomic<bool> fetched{false};
  int error = 0;
  bool drops = false;
  bool blind = false;  // takes pages to be where they were to go
  std::uintptr_t stuck = 0;
  Tier target = Tier::none;
};

// The migrator's threads outlive a test, so nothing here is ever destroyed.
struct World {
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kBytes = 64 * kUnit;

  explicit World(std::uint32_t threads = 1) {
    pages.add_range(reinterpret_cast<void*>(kBase), kBytes);
    migrator.init(backend, pages, {.threads = threads});
  }
  static Extent at(std::uint64_t offset, std::uint64_t bytes) {
    return tier::extent(kBase + offset, kBase + offset + bytes);
  }
  void put(Extent extent, Tier tier) {
    if (tier == Tier::fast) {
      ASSERT_TRUE(pages.claim(extent.bytes));
    }
    ASSERT_EQ(pages.settle(extent, tier), extent.bytes);
  }
  Ticket post(Extent extent, Tier to, std::uint64_t deadline = 0) {
    return migrator.post({.pages = extent, .to = to, .deadline_ns = deadline});
  }
  std::vector<RecordingBackend::Move> moves() {
    const std::lock_guard lock(backend.mutex);
    return backend.moves;
  }

  RecordingBackend backend;
  Pages pages;
  Migrator migrator;
};

World& make_world(std::uint32_t threads) {
  static auto& kept = *new std::vector<World*>;  // where a leak checker finds those that have no thread, too
  return *kept.emplace_back(new World(threads));
}

class MigratorTest : public ::testing::Test {
 protected:
  World& world = make_world(1);
};

TEST_F(MigratorTest, MovesWhatLiesOnTheOtherTierAndBooksIt) {
  world.put(World::at(0, 3 * kUnit), Tier::slow);
  const Ticket ticket = world.post(World::at(0, 3 * kUnit), Tier::fast);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.pages.of(World::at(0, 3 * kUnit)).fast, 3 * kUnit);
  EXPECT_EQ(world.pages.fast_bytes(), 3 * kUnit);
  const MoveStats stats = world.migrator.stats();
  EXPECT_EQ(stats.to_fast.bytes, 3 * kUnit);
  EXPECT_EQ(stats.to_fast.requests, 1u);
  EXPECT_EQ(stats.to_slow.bytes, 0u);
}

TEST_F(MigratorTest, PagesThatAreThereOrNowhereAreLeftAlone) {
  world.put(World::at(0, kPage), Tier::fast);
  world.put(World::at(2 * kPage, kPage), Tier::slow);
  const Ticket ticket = world.post(World::at(0, 4 * kPage), Tier::fast);
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::done);
  ASSERT_EQ(world.moves().size(), 1u);
  EXPECT_EQ(world.moves()[0].pages.begin(), World::kBase + 2 * kPage);
  EXPECT_EQ(world.moves()[0].pages.bytes, kPage);
}

// A unit never reaches over the end of a huge page.
TEST_F(MigratorTest, UnitsEndWhereHugePagesDo) {
  world.put(World::at(kUnit - kPage, 2 * kPage), Tier::slow);
  world.migrator.wait(world.post(World::at(kUnit - kPage, 2 * kPage), Tier::fast), 10 * kSecond);
  ASSERT_EQ(world.moves().size(), 2u);
  EXPECT_EQ(world.moves()[0].pages.bytes, kPage);
}

TEST_F(MigratorTest, AFetchWithoutRoomEndsAsFullAndExceedsNothing) {
  world.pages.set_capacity(2 * kUnit);
  world.put(World::at(0, 4 * kUnit), Tier::slow);
  const Ticket ticket = world.post(World::at(0, 4 * kUnit), Tier::fast);
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::full);
  EXPECT_LE(world.pages.fast_peak(), 2 * kUnit);
  EXPECT_EQ(world.migrator.stats().full, 1u);
}

TEST_F(MigratorTest, AFetchWithoutRoomLetsAnEvictionGoFirst) {
  world.pages.set_capacity(2 * kUnit);
  world.put(World::at(0, 2 * kUnit), Tier::fast);
  world.put(World::at(8 * kUnit, 2 * kUnit), Tier::slow);
  world.backend.blocked = true;
  world.migrator.pause(0);
  const Ticket fetch = world.post(World::at(8 * kUnit, 2 * kUnit), Tier::fast, 1);
  const Ticket eviction = world.post(World::at(0, 2 * kUnit), Tier::slow, 2);
  world.backend.blocked = false;
  world.migrator.resume();
  EXPECT_EQ(world.migrator.wait(fetch, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.migrator.outcome(eviction), Outcome::done);
  EXPECT_EQ(world.pages.of(World::at(8 * kUnit, 2 * kUnit)).fast, 2 * kUnit);
  EXPECT_EQ(world.pages.fast_peak(), 2 * kUnit);
}

// One mover: between two units it leaves an eviction for a fetch that has less time. The eviction's next unit would
// wait for the fetch for ever.
TEST_F(MigratorTest, AnUrgentFetchComesBetweenTheUnitsOfAnEviction) {
  world.put(World::at(0, 8 * kUnit), Tier::fast);
  world.put(World::at(8 * kUnit, kUnit), Tier::slow);
  world.backend.blocked = true;
  world.backend.held_after = 1;
  const Ticket eviction = world.post(World::at(0, 8 * kUnit), Tier::slow, 20);
  while (world.backend.begun == 0) std::this_thread::yield();
  const Ticket fetch = world.post(World::at(8 * kUnit, kUnit), Tier::fast, 10);
  world.backend.blocked = false;
  EXPECT_EQ(world.migrator.wait(fetch, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.migrator.wait(eviction, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.pages.slow_bytes(), 8 * kUnit);
}

// What stayed behind of a request is not forgotten while another one is served in between.
TEST_F(MigratorTest, ARequestThatGaveWayStillEndsAsPartial) {
  world.put(World::at(0, 3 * kUnit), Tier::slow);
  world.put(World::at(8 * kUnit, kUnit), Tier::slow);
  world.backend.blocked = true;
  world.backend.error = EBUSY;
  const Ticket long_one = world.post(World::at(0, 3 * kUnit), Tier::fast, 20);
  while (world.backend.begun == 0) std::this_thread::yield();
  const Ticket urgent = world.post(World::at(8 * kUnit, kUnit), Tier::fast, 10);
  world.backend.blocked = false;
  EXPECT_EQ(world.migrator.wait(long_one, 10 * kSecond), Outcome::partial);
  EXPECT_EQ(world.migrator.outcome(urgent), Outcome::partial);
  EXPECT_EQ(world.moves()[1].pages.begin(), World::kBase + 8 * kUnit);
}

TEST_F(MigratorTest, WhatStaysBehindIsCountedByErrnoAndBookedWhereItIs) {
  world.backend.error = EBUSY;
  world.put(World::at(0, 4 * kPage), Tier::slow);
  const Ticket ticket = world.post(World::at(0, 4 * kPage), Tier::fast);
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::partial);
  EXPECT_EQ(world.pages.at(World::at(0, 1).address), Tier::slow);
  EXPECT_EQ(world.pages.fast_bytes(), 3 * kPage);
  const MoveStats stats = world.migrator.stats();
  EXPECT_EQ(stats.failed_bytes, kPage);
  EXPECT_EQ(stats.busy, 1u);
  EXPECT_EQ(stats.to_fast.bytes, 3 * kPage);
}

// An emulated tier cannot tell where pages are; what it says of a move as a whole counts.
TEST_F(MigratorTest, WhereNothingMovedNobodyAsksWhereItIs) {
  world.backend.error = ENOMEM;
  world.backend.blind = true;
  world.put(World::at(0, kPage), Tier::slow);
  world.put(World::at(kUnit, kPage), Tier::fast);
  EXPECT_EQ(world.migrator.wait(world.post(World::at(0, kPage), Tier::fast), 10 * kSecond), Outcome::partial);
  EXPECT_EQ(world.migrator.wait(world.post(World::at(kUnit, kPage), Tier::slow), 10 * kSecond), Outcome::partial);
  EXPECT_EQ(world.pages.fast_bytes(), kPage);
  EXPECT_EQ(world.pages.slow_bytes(), kPage);
  EXPECT_EQ(world.migrator.stats().no_memory, 2u);
}

TEST_F(MigratorTest, TheMomentOfAnEndIsWrittenWhereAskedFor) {
  world.put(World::at(0, kPage), Tier::slow);
  world.backend.blocked = true;
  std::atomic<std::uint64_t> over{0};
  const Ticket ticket = world.migrator.post({.pages = World::at(0, kPage), .to = Tier::fast, .over_ns = &over});
  while (world.backend.begun == 0) std::this_thread::yield();
  const std::uint64_t before = os::monotonic_ns();
  EXPECT_EQ(over, 0u);
  world.backend.blocked = false;
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::done);
  EXPECT_GE(over, before);
  EXPECT_LE(over, os::monotonic_ns());
}

TEST_F(MigratorTest, CleanPagesAreDroppedWhereTheBackendCan) {
  world.backend.drops = true;
  world.put(World::at(0, kUnit), Tier::fast);
  const Ticket ticket = world.migrator.post({.pages = World::at(0, kUnit), .to = Tier::slow, .clean = true});
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::done);
  EXPECT_TRUE(world.moves().empty());
  EXPECT_EQ(world.migrator.stats().dropped_clean_bytes, kUnit);
  EXPECT_EQ(world.pages.slow_bytes(), kUnit);
}

TEST_F(MigratorTest, CancelledBetweenTwoUnits) {
  world.put(World::at(0, 8 * kUnit), Tier::slow);
  world.backend.blocked = true;
  const Ticket ticket = world.post(World::at(0, 8 * kUnit), Tier::fast);
  EXPECT_EQ(world.migrator.wait(ticket, kSecond / 100), Outcome::pending);
  EXPECT_TRUE(world.migrator.cancel(ticket));
  world.backend.blocked = false;
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::cancelled);
  EXPECT_LT(world.moves().size(), 8u);
  EXPECT_EQ(world.migrator.stats().cancelled, 1u);
  EXPECT_EQ(world.pages.fast_bytes(), world.pages.of(World::at(0, 8 * kUnit)).fast);
}

TEST_F(MigratorTest, NothingMovesWhilePaused) {
  world.put(World::at(0, kUnit), Tier::slow);
  ASSERT_TRUE(world.migrator.pause(10 * kSecond));
  const Ticket ticket = world.post(World::at(0, kUnit), Tier::fast);
  EXPECT_EQ(world.migrator.wait(ticket, kSecond / 50), Outcome::pending);
  EXPECT_TRUE(world.moves().empty());
  world.migrator.resume();
  EXPECT_EQ(world.migrator.wait(ticket, 10 * kSecond), Outcome::done);
}

TEST_F(MigratorTest, LatenessIsMeasured) {
  world.put(World::at(0, kUnit), Tier::slow);
  world.migrator.wait(world.post(World::at(0, kUnit), Tier::fast, 1), 10 * kSecond);
  EXPECT_EQ(world.migrator.stats().late, 1u);
  EXPECT_GT(world.migrator.stats().latest_ns, 0u);
}

TEST_F(MigratorTest, StoppedItRefuses) {
  world.migrator.stop();
  EXPECT_FALSE(world.migrator.ready());
  EXPECT_FALSE(world.post(World::at(0, kPage), Tier::fast));
  EXPECT_EQ(world.migrator.stats().refused, 1u);
}

TEST_F(MigratorTest, AForkedChildHasNoMoversAndIsRefused) {
  world.put(World::at(0, kUnit), Tier::slow);
  world.migrator.wait(world.post(World::at(0, kUnit), Tier::fast), 10 * kSecond);
  const int pid = ::fork();
  if (pid == 0) {
    world.migrator.child_after_fork();
    ::_exit(world.post(World::at(0, kUnit), Tier::slow) ? 1 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(world.migrator.wait(world.post(World::at(0, kUnit), Tier::slow), 10 * kSecond), Outcome::done);
}

// Evictions that are older, more urgent and endless: both movers are at them when a fetch is asked for, and one leaves.
TEST(MigratorThreads, EvictionsDoNotKeepBothMoversFromAFetch) {
  World& world = make_world(2);
  world.put(World::at(0, 16 * kUnit), Tier::fast);
  world.put(World::at(16 * kUnit, kUnit), Tier::slow);
  world.backend.blocked = true;
  world.backend.held_after = 2;
  const Ticket first = world.post(World::at(0, 8 * kUnit), Tier::slow, 1);
  const Ticket second = world.post(World::at(8 * kUnit, 8 * kUnit), Tier::slow, 2);
  while (world.backend.begun < 2) std::this_thread::yield();
  const Ticket fetch = world.post(World::at(16 * kUnit, kUnit), Tier::fast, 10);
  world.backend.blocked = false;
  EXPECT_EQ(world.migrator.wait(fetch, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.migrator.wait(first, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.migrator.wait(second, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.pages.slow_bytes(), 16 * kUnit);
}

// And the other way round, so that a fetch finds room.
TEST(MigratorThreads, FetchesDoNotKeepBothMoversFromAnEviction) {
  World& world = make_world(2);
  world.pages.set_capacity(17 * kUnit);
  world.put(World::at(0, kUnit), Tier::fast);
  world.put(World::at(16 * kUnit, 16 * kUnit), Tier::slow);
  world.backend.blocked = true;
  const Ticket first = world.post(World::at(16 * kUnit, 8 * kUnit), Tier::fast, 1);
  const Ticket second = world.post(World::at(24 * kUnit, 8 * kUnit), Tier::fast, 2);
  while (world.backend.begun < 2) std::this_thread::yield();
  const Ticket eviction = world.post(World::at(0, kUnit), Tier::slow, 10);
  world.backend.blocked = false;
  EXPECT_EQ(world.migrator.wait(eviction, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.migrator.wait(first, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.migrator.wait(second, 10 * kSecond), Outcome::done);
  EXPECT_EQ(world.pages.fast_bytes(), 16 * kUnit);
  const std::vector<RecordingBackend::Move> moves = world.moves();
  const auto at = std::find_if(moves.begin(), moves.end(), [](const auto& move) { return move.to == Tier::slow; });
  EXPECT_LT(at - moves.begin(), 16) << "it came last";
}

TEST(MigratorThreads, ManyRequestsOverlappingWithinTheCapacity) {
  World& world = make_world(3);
  world.pages.set_capacity(World::kBytes / 4);
  world.put(World::at(0, World::kBytes), Tier::slow);
  for (int i = 0; i < 600; ++i) {
    const std::uint64_t offset = static_cast<std::uint64_t>(i * 7919) % (World::kBytes / kPage - 700) * kPage;
    const Tier to = i % 2 == 0 ? Tier::fast : Tier::slow;
    while (!world.post(World::at(offset, 600 * kPage), to, static_cast<std::uint64_t>(i + 1)))
      std::this_thread::yield();
  }
  ASSERT_TRUE(world.migrator.drain(20 * kSecond));
  const tier::Residency residency = world.pages.of(World::at(0, World::kBytes));
  EXPECT_EQ(residency.fast, world.pages.fast_bytes());
  EXPECT_EQ(residency.slow, world.pages.slow_bytes());
  EXPECT_LE(world.pages.fast_peak(), world.pages.capacity());
}

}  // namespace
}  // namespace hearth::migrate
