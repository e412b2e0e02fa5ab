// PageHeap under threads: blocks of many sizes, freed by other threads than they came from, contents checked.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "arena/page_heap.h"

namespace hearth::arena {
namespace {

constexpr unsigned kThreads = 4;
constexpr unsigned kOperations = 100'000;

struct Held {
  std::uint64_t* block = nullptr;
  std::uint64_t mark = 0;
  std::size_t words = 0;
};

// First and last word of every block carry a mark that nobody else uses.
Held take(PageHeap& heap, std::size_t bytes, std::uint64_t mark) {
  auto* block = static_cast<std::uint64_t*>(heap.allocate(bytes));
  if (block == nullptr) {
    return {};
  }
  std::size_t words = heap.block_bytes(block) / sizeof(std::uint64_t);
  block[0] = mark;
  block[words - 1] = ~mark;
  return {block, mark, words};
}

bool give(PageHeap& heap, const Held& held) {
  bool whole = held.block[0] == held.mark && held.block[held.words - 1] == ~held.mark &&
               heap.block_bytes(held.block) / sizeof(std::uint64_t) == held.words;
  heap.free(held.block);
  return whole;
}

// A place where threads leave blocks for each other.
struct Exchange {
  std::array<std::atomic<Held*>, 256> places{};
};

unsigned work(PageHeap& heap, Exchange& exchange, unsigned owner) {
  std::mt19937 random(owner);
  unsigned failures = 0;
  for (unsigned i = 0; i < kOperations; ++i) {
    std::size_t bytes = 1 + random() % (1u << (6 + random() % 13));
    Held held = take(heap, bytes, (std::uint64_t{owner} << 32) | i);
    failures += held.block == nullptr;
    Held* other = exchange.places[random() % exchange.places.size()].exchange(new Held(held));
    if (other != nullptr) {
      failures += other->block != nullptr && !give(heap, *other);
      delete other;
    }
  }
  return failures;
}

void run(std::size_t reserve, std::uint64_t hold_ns) {
  auto heap = std::make_unique<PageHeap>();
  ASSERT_TRUE(heap->init(reserve, hold_ns));
  Exchange exchange;
  std::atomic<unsigned> failures{0};
  std::vector<std::thread> threads;
  for (unsigned owner = 0; owner < kThreads; ++owner) {
    threads.emplace_back([&, owner] { failures += work(*heap, exchange, owner); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures.load(), 0u);
  for (std::atomic<Held*>& place : exchange.places) {
    std::unique_ptr<Held> rest(place.exchange(nullptr));
    EXPECT_TRUE(rest == nullptr || give(*heap, *rest));
  }
  HeapStats stats = heap->stats();
  EXPECT_EQ(stats.live_bytes, 0u);
  EXPECT_EQ(stats.bad_frees, 0u);
  heap->trim();
  EXPECT_EQ(heap->stats().cached_bytes, 0u) << "every page is accounted for";
}

TEST(PageHeapThreads, NeverShareABlock) { run(4ul << 30, PageHeap::kHoldNs); }

// Small enough that blocks are cut, and with every free beyond the floor returned.
TEST(PageHeapThreads, NeverShareABlockWhenMemoryIsShort) { run(128ul << 20, 0); }

TEST(PageHeapThreads, TrimWhileOthersAllocate) {
  auto heap = std::make_unique<PageHeap>();
  ASSERT_TRUE(heap->init(1ul << 30));
  std::atomic<bool> done{false};
  std::thread trimmer([&] {
    while (!done.load()) {
      heap->trim();
    }
  });
  std::mt19937 random(5);
  unsigned failures = 0;
  for (unsigned i = 0; i < 3'000; ++i) {
    Held a = take(*heap, 1 + random() % 100'000, i);
    Held b = take(*heap, 1 + random() % 100'000, ~std::uint64_t{i});
    failures += !give(*heap, a) + !give(*heap, b);
  }
  done.store(true);
  trimmer.join();
  EXPECT_EQ(failures, 0u);
}

// A child forked at any moment can free its parent's blocks and allocate new ones.
TEST(PageHeapThreads, SurviveForkInTheChild) {
  auto heap = std::make_unique<PageHeap>();
  ASSERT_TRUE(heap->init(4ul << 30));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned owner = 0; owner < 2; ++owner) {
    threads.emplace_back([&, owner] {
      std::mt19937 random(owner);
      for (std::uint64_t i = 0; !done.load(); ++i) {
        give(*heap, take(*heap, 1 + random() % 300'000, i));
      }
    });
  }
  Held inherited = take(*heap, 1 << 20, 42);
  for (int round = 0; round < 50; ++round) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // a hang is a failure, not a hung test
      bool good = give(*heap, inherited);
      for (std::uint64_t i = 0; i < 200; ++i) {
        Held held = take(*heap, 1 + i * 1000, i);
        good = good && held.block != nullptr && give(*heap, held);
      }
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  done.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(give(*heap, inherited));
}

}  // namespace
}  // namespace hearth::arena
