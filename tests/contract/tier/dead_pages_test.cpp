// The contract of tier::Backend for contents that nobody needs: what forget() may lose, and that no mover loses more.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "contract/tier/backend_fixture.h"

namespace hearth::tier {
namespace {

class DeadPagesTest : public BackendTest {};

// Begins and ends in the middle of pages, which it shares with others.
TEST_P(DeadPagesTest, WhatIsForgottenIsTheExtentsOwnPagesAlone) {
  const Memory memory(12 * kPage);
  os::advise_small(memory.base, memory.bytes);
  memory.fill();
  const Extent dead{memory.data() + 2 * kPage + 100, 6 * kPage};
  const bool gone = backend->forget(dead);
  EXPECT_EQ(gone, backend->tiered());
  for (const Tier to : {Tier::slow, Tier::fast}) {
    const Moved moved = backend->move(dead, to);
    if (backend->tiered()) {
      EXPECT_EQ(moved.failed, 0u) << std::strerror(moved.error);
    }
    EXPECT_TRUE(memory.intact(0, 3 * kPage));
    EXPECT_TRUE(memory.intact(8 * kPage, memory.bytes));
    for (std::uint64_t page = 3; page < 8; ++page) {
      const std::uint64_t begin = page * kPage;
      EXPECT_TRUE(memory.zero(begin, begin + kPage) || memory.intact(begin, begin + kPage)) << page;
    }
    if (!gone) {
      EXPECT_TRUE(memory.intact());
    }
  }
}

TEST_P(DeadPagesTest, NothingIsForgottenOfLessThanAPage) {
  const Memory memory(3 * kPage);
  memory.fill();
  backend->forget({memory.data() + 100, 2 * kPage - 200});
  backend->forget({memory.data() + kPage, 0});
  EXPECT_TRUE(memory.intact());
}

// The owner forgets and writes at once, while a mover moves what is there, one way and the other: every write survives.
TEST_P(DeadPagesTest, TheOwnerIsQuickerThanTheMover) {
  constexpr std::uint64_t kRounds = 60;
  const Memory memory(Backend::kMoveUnit);
  os::advise_small(memory.base, memory.bytes);
  memory.fill();
  const std::uint64_t first = 16, count = 128;
  const Extent stretch = memory.pages(first, count);
  std::atomic<bool> go{true};
  std::atomic<std::uint64_t> moves{0};
  std::thread mover([&] {
    for (; go; ++moves) backend->move(stretch, moves % 2 == 0 ? Tier::fast : Tier::slow);
  });
  std::uint64_t lost = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    backend->forget(stretch);
    for (std::uint64_t page = first; page < first + count; ++page) {
      auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data() + page * kPage);
      word->store(round * count + page, std::memory_order_relaxed);
    }
    const std::uint64_t until = moves + 1;
    while (moves < until) std::this_thread::yield();
    for (std::uint64_t page = first; page < first + count; ++page) {
      const auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data() + page * kPage);
      lost += word->load(std::memory_order_relaxed) != round * count + page ? 1 : 0;
    }
  }
  go = false;
  mover.join();
  EXPECT_EQ(lost, 0u);
  EXPECT_TRUE(memory.intact(0, first * kPage));
  EXPECT_TRUE(memory.intact((first + count) * kPage, memory.bytes));
}

INSTANTIATE_TEST_SUITE_P(Backends, DeadPagesTest, ::testing::ValuesIn(all_here()),
                         [](const auto& each) { return each.param; });
}  // namespace
}  // namespace hearth::tier
