// The emulated backend alone: what moves take.
#include "tier/emulated_backend.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "contract/tier/backend_fixture.h"
#include "platform/os_clock.h"

namespace hearth::tier {
namespace {

// A move takes as long as the machine's bandwidth says, and never less.
TEST(EmulatedBackendTest, MovesKeepTheMachinesPace) {
  EmulatedBackend backend;
  ASSERT_TRUE(backend.init(quick_machine()));
  const Memory memory(16 * Backend::kMoveUnit);
  memory.fill();
  for (const Tier to : {Tier::fast, Tier::slow}) {
    const double bandwidth = to == Tier::fast ? quick_machine().move_to_fast : quick_machine().move_to_slow;
    const auto begin = std::chrono::steady_clock::now();
    backend.move(memory.all(), to);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(spent.count(), static_cast<double>(memory.bytes) / bandwidth);
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// All movers share what a direction can do: two of them are not twice as fast.
TEST(EmulatedBackendTest, SeveralMoversShareTheBandwidthOfADirection) {
  EmulatedBackend backend;
  ASSERT_TRUE(backend.init(quick_machine()));
  const Memory memory(16 * Backend::kMoveUnit);
  memory.fill();
  for (const Tier to : {Tier::fast, Tier::slow}) {
    const double bandwidth = to == Tier::fast ? quick_machine().move_to_fast : quick_machine().move_to_slow;
    const double spent = seconds_of([&] {
      const auto half = [&](std::uint64_t number) {
        backend.move({memory.data() + number * memory.bytes / 2, memory.bytes / 2}, to);
      };
      std::thread other(half, 0);
      half(1);
      other.join();
    });
    EXPECT_GE(spent, static_cast<double>(memory.bytes) / bandwidth);
  }
}

// Each direction has a clock of its own: what was moved one way holds up nothing that goes the other way. Told by the
// clocks' own promise, a move that finds its lane free begins at once, on a machine where the other way takes an hour.
TEST(EmulatedBackendTest, TheDirectionsDoNotWaitForEachOther) {
  Machine machine = quick_machine();
  machine.move_to_slow = 64.0 * kPage / 3600;
  static EmulatedBackend backend;  // outlives the move that takes an hour
  ASSERT_TRUE(backend.init(machine));
  static const Memory memory(128 * kPage);
  memory.fill();
  std::thread([] { backend.move(memory.pages(0, 64), Tier::slow); }).detach();
  for (int i = 0; i < 100; ++i) backend.move(memory.pages(64, 64), Tier::fast);
  EXPECT_TRUE(memory.intact());
}

// By it ops are charged for the moves beside them.
TEST(EmulatedBackendTest, LanesAreBusyForAsLongAsTheirMovesTake) {
  Machine machine = quick_machine();
  machine.move_to_fast = 64.0 * kPage / 0.02;
  machine.move_to_slow = 64.0 * kPage / 0.01;
  EmulatedBackend backend;
  ASSERT_TRUE(backend.init(machine));
  const Memory memory(64 * kPage);
  memory.fill();
  const std::uint64_t start = os::monotonic_ns();
  EXPECT_EQ(backend.busy_ns(start), 0u);
  std::thread to_slow([&] { backend.move(memory.pages(0, 64), Tier::slow); });
  backend.move(memory.pages(0, 64), Tier::fast);
  to_slow.join();
  const std::uint64_t end = os::monotonic_ns();
  EXPECT_NEAR(static_cast<double>(backend.busy_ns(end)), 30e6, 1e3);
  EXPECT_EQ(backend.busy_ns(end + 1'000'000'000), backend.busy_ns(end)) << "nothing moves";
}

// A move that has a part of its time before it counts with the part that is over.
TEST(EmulatedBackendTest, WhatAMoveHasYetToTakeIsNotCounted) {
  Machine machine = quick_machine();
  machine.move_to_slow = 64.0 * kPage / 3600;
  static EmulatedBackend backend;  // outlives the move that takes an hour
  ASSERT_TRUE(backend.init(machine));
  static const Memory memory(64 * kPage);
  memory.fill();
  const std::uint64_t start = os::monotonic_ns();
  std::thread([] { backend.move(memory.pages(0, 64), Tier::slow); }).detach();
  while (backend.busy_ns(os::monotonic_ns()) == 0) std::this_thread::yield();
  const std::uint64_t busy = backend.busy_ns(os::monotonic_ns());
  EXPECT_GT(busy, 0u);
  EXPECT_LE(busy, os::monotonic_ns() - start);
}

TEST(EmulatedBackendTest, AMachineWithoutSpeedsIsRefused) {
  EmulatedBackend backend;
  EXPECT_FALSE(backend.init(Machine{}));
}

}  // namespace
}  // namespace hearth::tier
