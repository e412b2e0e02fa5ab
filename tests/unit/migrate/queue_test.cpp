#include "migrate/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace hearth::migrate {
namespace {

using tier::Tier;

Request request(std::uint64_t deadline, std::uint32_t priority = 0, Tier to = Tier::fast) {
  Request made;
  made.to = to;
  made.priority = priority;
  made.deadline_ns = deadline;
  return made;
}

class QueueTest : public ::testing::Test {
 protected:
  std::unique_ptr<Queue> queue = std::make_unique<Queue>();
};

TEST_F(QueueTest, AnEmptyQueueHasNothing) {
  EXPECT_EQ(queue->take(Tier::none), Queue::kNone);
  EXPECT_EQ(queue->unfinished(), 0u);
}

TEST_F(QueueTest, TheMostUrgentComesFirst) {
  queue->post(request(0));
  queue->post(request(30));
  queue->post(request(10));
  queue->post(request(90, 1));
  std::vector<std::uint64_t> order;
  for (std::uint32_t slot = queue->take(Tier::none); slot != Queue::kNone; slot = queue->take(Tier::none)) {
    order.push_back(queue->request(slot).deadline_ns);
    queue->finish(slot, Outcome::done);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{90, 10, 30, 0}));
}

TEST_F(QueueTest, OneTargetAlone) {
  queue->post(request(1, 0, Tier::fast));
  queue->post(request(2, 0, Tier::slow));
  const std::uint32_t slot = queue->take(Tier::slow);
  ASSERT_NE(slot, Queue::kNone);
  EXPECT_EQ(queue->request(slot).deadline_ns, 2u);
  EXPECT_EQ(queue->take(Tier::slow), Queue::kNone);
}

TEST_F(QueueTest, OutcomesAreKeptForTheirTicketAlone) {
  const Ticket first = queue->post(request(1));
  EXPECT_EQ(queue->outcome(first), Outcome::pending);
  const std::uint32_t slot = queue->take(Tier::none);
  EXPECT_EQ(queue->outcome(first), Outcome::pending);
  queue->finish(slot, Outcome::full);
  EXPECT_EQ(queue->outcome(first), Outcome::full);
  const Ticket second = queue->post(request(2));
  EXPECT_NE(first.value, second.value);
  EXPECT_EQ(queue->outcome(first), Outcome::done);
  EXPECT_EQ(queue->outcome(second), Outcome::pending);
}

TEST_F(QueueTest, OnlyWhatIsNotOverCanBeCancelled) {
  const Ticket ticket = queue->post(request(1));
  EXPECT_TRUE(queue->cancel(ticket));
  const std::uint32_t slot = queue->take(Tier::none);
  EXPECT_TRUE(queue->cancelling(slot));
  queue->finish(slot, Outcome::cancelled);
  EXPECT_FALSE(queue->cancel(ticket));
  const Ticket next = queue->post(request(2));
  EXPECT_FALSE(queue->cancelling(queue->take(Tier::none))) << "a cancellation must not reach the next tenant";
  EXPECT_FALSE(queue->cancel(ticket));
  EXPECT_FALSE(queue->cancel({}));
  EXPECT_TRUE(queue->cancel(next));
}

TEST_F(QueueTest, AFullQueueRefusesAndRecovers) {
  for (std::uint32_t i = 0; i < Queue::kSlots; ++i) ASSERT_TRUE(queue->post(request(i + 1)));
  EXPECT_FALSE(queue->post(request(1)));
  queue->finish(queue->take(Tier::none), Outcome::done);
  EXPECT_TRUE(queue->post(request(1)));
  EXPECT_EQ(queue->unfinished(), Queue::kSlots);
}

TEST_F(QueueTest, WhatWasPutBackKeepsItsProgress) {
  queue->post(request(1));
  std::uint32_t slot = queue->take(Tier::none);
  queue->progress(slot) = 42;
  queue->put_back(slot);
  slot = queue->take(Tier::none);
  EXPECT_EQ(queue->progress(slot), 42u);
}

TEST_F(QueueTest, EveryRequestIsServedOnceByManyThreads) {
  constexpr int kPosters = 2;
  constexpr std::uint64_t kEach = 20'000;
  std::vector<std::atomic<int>> served(kPosters * kEach + 1);
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> threads;
  for (int p = 0; p < kPosters; ++p) {
    threads.emplace_back([&, p] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        while (!queue->post(request(static_cast<std::uint64_t>(p) * kEach + i + 1))) std::this_thread::yield();
      }
    });
  }
  for (int s = 0; s < 2; ++s) {
    threads.emplace_back([&] {
      while (done < kPosters * kEach) {
        const std::uint32_t slot = queue->take(Tier::none);
        if (slot == Queue::kNone) {
          std::this_thread::yield();
          continue;
        }
        served[queue->request(slot).deadline_ns].fetch_add(1);
        queue->finish(slot, Outcome::done);
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 1; i < served.size(); ++i) ASSERT_EQ(served[i], 1) << i;
  EXPECT_EQ(queue->unfinished(), 0u);
}

}  // namespace
}  // namespace hearth::migrate
