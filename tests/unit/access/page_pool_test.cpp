// The words of guarded pages: locks of one page, and the list of those to be armed again.
#include "access/page_pool.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hearth::access {
namespace {

constexpr std::uint32_t kThreads = 4;

template <class Work>
void on_threads(Work work) {
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

TEST(PagePool, HeadersTellSlotAndPages) {
  PagePool pool;
  ASSERT_TRUE(pool.init());
  const std::uint32_t first = pool.allocate(TensorSlot{77}, 3);
  const std::uint32_t second = pool.allocate(TensorSlot{1u << 20}, PagePool::kMaxPages);
  EXPECT_EQ(second, first + 4);
  EXPECT_EQ(header_slot(pool.at(first)), TensorSlot{77});
  EXPECT_EQ(header_pages(pool.at(first)), 3u);
  EXPECT_EQ(header_slot(pool.at(second)), TensorSlot{1u << 20});
  EXPECT_EQ(header_pages(pool.at(second)), PagePool::kMaxPages);
  EXPECT_EQ(pool.allocate(TensorSlot{1}, 0), 0u);
  EXPECT_EQ(pool.allocate(TensorSlot{1}, PagePool::kMaxPages + 1), 0u);
  while (pool.allocate(TensorSlot{1}, PagePool::kMaxPages) != 0) {
  }
  EXPECT_LE(pool.limit(), PagePool::kCapacity);
  EXPECT_EQ(pool.begin_run(), 1u) << "more than half used: starts over";
}

TEST(PagePool, ALockedWordIsOneThreadsOwn) {
  PagePool pool;
  ASSERT_TRUE(pool.init());
  const std::uint32_t index = pool.allocate(TensorSlot{1}, 1) + 1;
  pool.at(index) = with_state(0x7000, State::open);
  std::uint64_t guarded = 0;  // plain: the lock orders it
  on_threads([&](std::uint32_t t) {
    for (int i = 0; i < 20000; ++i) {
      std::uint64_t before = 0;
      if (t == 0) {
        if (!try_lock(pool.at(index), &before)) {
          --i;
          continue;
        }
      } else {
        before = lock(pool.at(index));
      }
      ++guarded;
      unlock(pool.at(index), before);
    }
  });
  EXPECT_EQ(guarded, kThreads * 20000u);
  EXPECT_EQ(pool.at(index), with_state(0x7000, State::open));
}

TEST(PagePool, DeadIsFinal) {
  Word word{with_state(0x9000, State::dead)};
  bool waited = true;
  EXPECT_EQ(state_of(lock(word, &waited)), State::dead);
  EXPECT_FALSE(waited);
  std::uint64_t before = 0;
  EXPECT_FALSE(try_lock(word, &before));
  EXPECT_EQ(word, with_state(0x9000, State::dead));
}

TEST(PagePool, EveryListedPageIsTakenOnce) {
  PagePool pool;
  ASSERT_TRUE(pool.init());
  constexpr std::uint32_t kEach = 10000;
  const std::uint32_t first = pool.allocate(TensorSlot{1}, kThreads * kEach) + 1;
  std::vector<int> taken(kThreads * kEach);
  std::atomic<std::uint32_t> running{kThreads};
  std::thread taker([&] {
    for (bool last = false; !last;) {
      last = running == 0;
      for (std::uint32_t index = pool.take_list(); index != 0; index = pool.next_listed(index)) ++taken[index - first];
    }
  });
  on_threads([&](std::uint32_t t) {
    for (std::uint32_t i = 0; i < kEach; ++i) pool.list(first + t * kEach + i);
    --running;
  });
  taker.join();
  EXPECT_EQ(taken, std::vector<int>(kThreads * kEach, 1));
  EXPECT_FALSE(pool.any_listed());
}

}  // namespace
}  // namespace hearth::access
