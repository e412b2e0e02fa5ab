#include "trace/event_log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "platform/os_memory.h"

namespace hearth::trace {
namespace {

hearth_event event_of(std::uint16_t thread, std::uint64_t number) {
  hearth_event event{};
  event.time_ns = number;
  event.bytes = ~number;
  event.type = HEARTH_EVENT_ALLOC;
  event.thread = thread;
  return event;
}

std::size_t resident(const void* begin, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(const_cast<void*>(begin), bytes, pages.data()), 0);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](auto page) { return page & 1; })) * 4096;
}

TEST(EventLog, KeepsEventsInOrder) {
  EventLog log;
  ASSERT_TRUE(log.init(1000));
  for (std::uint64_t i = 0; i < 10; ++i) {
    log.append(event_of(1, i));
  }
  ASSERT_EQ(log.events().size(), 10u);
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(log.events()[i].time_ns, i);
    EXPECT_EQ(log.events()[i].bytes, ~i);
  }
  log.clear();
  EXPECT_TRUE(log.events().empty());
}

TEST(EventLog, DropsAndCountsWhatDoesNotFit) {
  EventLog log;
  log.append(event_of(0, 0));
  EXPECT_EQ(log.dropped(), 1u);
  EXPECT_TRUE(log.events().empty());
  log.clear();
  ASSERT_TRUE(log.init(100));
  for (std::uint64_t i = 0; i < 130; ++i) {
    log.append(event_of(0, i));
  }
  EXPECT_EQ(log.events().size(), 100u);
  EXPECT_EQ(log.events().back().time_ns, 99u);
  EXPECT_EQ(log.dropped(), 30u);
  log.clear();
  EXPECT_EQ(log.dropped(), 0u);
}

TEST(EventLog, RefusesImpossibleCapacities) {
  EventLog log;
  EXPECT_FALSE(log.init(0));
  EXPECT_FALSE(log.init(UINT64_MAX));
  EXPECT_FALSE(log.init(1ull << 58));
  EXPECT_TRUE(log.init(1));
}

TEST(EventLog, KeepsEveryEventOfEveryThread) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kEach = 50'000;
  auto log = std::make_unique<EventLog>();
  ASSERT_TRUE(log->init(kThreads * kEach));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        log->append(event_of(static_cast<std::uint16_t>(t), i));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_EQ(log->events().size(), kThreads * kEach);
  EXPECT_EQ(log->dropped(), 0u);
  std::vector<std::uint64_t> next(kThreads, 0);
  for (const hearth_event& event : log->events()) {
    ASSERT_EQ(event.time_ns, next[event.thread]) << "the events of one thread stand in its order";
    ASSERT_EQ(event.bytes, ~event.time_ns);
    ++next[event.thread];
  }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // whose shadow faults as well
long faults_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

TEST(EventLog, DoesNotFaultInAnOrdinaryIteration) {
  auto log = std::make_unique<EventLog>();
  ASSERT_TRUE(log->init(16u << 20));
  log->append(event_of(0, 0));
  long before = faults_of_this_thread();
  for (std::uint64_t i = 1; i < 200'000; ++i) {
    log->append(event_of(0, i));
  }
  EXPECT_LT(faults_of_this_thread() - before, 20);
}
#endif

TEST(EventLog, GivesALongIterationsMemoryBack) {
  constexpr std::size_t kEvents = 1u << 20;  // 32 MiB
  auto log = std::make_unique<EventLog>();
  ASSERT_TRUE(log->init(kEvents));
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    log->append(event_of(0, i));
  }
  const void* memory = log->events().data();
  EXPECT_EQ(resident(memory, kEvents * sizeof(hearth_event)), 32u << 20);
  log->clear();
  EXPECT_EQ(resident(memory, kEvents * sizeof(hearth_event)), 8u << 20);
  log->append(event_of(3, 7));
  EXPECT_EQ(log->events()[0].thread, 3u);
}

}  // namespace
}  // namespace hearth::trace
