#include "platform/os_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "platform/os_clock.h"

namespace hearth::os {
namespace {

constexpr std::size_t kMiB = 1 << 20;

std::size_t resident(void* begin, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / page_size());
  EXPECT_EQ(::mincore(begin, bytes, pages.data()), 0);
  auto count = std::count_if(pages.begin(), pages.end(), [](auto page) { return page & 1; });
  return static_cast<std::size_t>(count) * page_size();
}

template <class Body>
bool succeeds_in_child(Body body) {
  pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(OsMemory, ReservesAlignedAddressesWithoutMemory) {
  for (std::size_t alignment : {page_size(), 64 * page_size(), 2 * kMiB, 1024 * kMiB}) {
    void* range = reserve(3 * kMiB, alignment);
    ASSERT_NE(range, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range) % alignment, 0u);
    EXPECT_EQ(resident(range, 3 * kMiB), 0u);
    unmap(range, 3 * kMiB);
    unsigned char page = 0;
    EXPECT_EQ(::mincore(range, page_size(), &page), -1) << "nothing of the slack is left mapped";
  }
}

TEST(OsMemory, RefusesImpossibleReservationsAndKeepsErrno) {
  errno = ERANGE;
  EXPECT_EQ(reserve(0, page_size()), nullptr);
  EXPECT_EQ(reserve(SIZE_MAX, page_size()), nullptr);
  EXPECT_EQ(reserve(SIZE_MAX - 2 * page_size(), 2 * kMiB), nullptr);
  EXPECT_EQ(reserve(std::size_t{1} << 50, page_size()), nullptr);
  EXPECT_EQ(map_zeroed(SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ERANGE);
}

TEST(OsMemory, CommitsProtectsAndDiscards) {
  auto* range = static_cast<char*>(reserve(kMiB, page_size()));
  EXPECT_FALSE(succeeds_in_child([&] {
    range[0] = 1;  // reserved only: dies
    return true;
  }));
  ASSERT_EQ(commit(range, kMiB), 0);
  std::memset(range, 7, kMiB);
  EXPECT_EQ(resident(range, kMiB), kMiB);
  EXPECT_EQ(protect(range, page_size(), Protection::read), 0);
  EXPECT_EQ(range[1], 7);
  EXPECT_FALSE(succeeds_in_child([&] {
    range[0] = 1;  // read-only: dies
    return true;
  }));
  EXPECT_EQ(protect(range, page_size(), Protection::read_write), 0);
  range[0] = 1;
  EXPECT_EQ(discard(range, kMiB), 0);
  EXPECT_EQ(resident(range, kMiB), 0u);
  EXPECT_EQ(range[0], 0);
  unmap(range, kMiB);
  EXPECT_EQ(commit(range, kMiB), ENOMEM);
}

TEST(OsMemory, TellsThatLockedPagesCannotBeDiscarded) {
  auto* range = static_cast<char*>(reserve(page_size(), page_size()));
  ASSERT_EQ(commit(range, page_size()), 0);
  if (::syscall(SYS_mlock, range, page_size()) != 0) {  // sanitizers make mlock() do nothing
    GTEST_SKIP() << "no memory may be locked here";
  }
  range[0] = 5;
  EXPECT_EQ(discard(range, page_size()), EINVAL);
  EXPECT_EQ(range[0], 5);
  unmap(range, page_size());
}

TEST(OsMemory, PrefaultsWithoutChangingContents) {
  auto* range = static_cast<char*>(map_zeroed(kMiB));
  range[100] = 3;
  EXPECT_EQ(prefault(range, kMiB), 0);
  EXPECT_EQ(resident(range, kMiB), kMiB);
  EXPECT_EQ(range[100], 3);
}

TEST(OsMemory, GivesSmallTablesZeroedDisjointAndAligned) {
  for (std::size_t i = 0; i < 3000; ++i) {  // passes over several shared blocks
    std::size_t bytes = 1 + i % 2100;
    auto* table = static_cast<unsigned char*>(map_zeroed(bytes));
    ASSERT_NE(table, nullptr);
    auto address = reinterpret_cast<std::uintptr_t>(table);
    ASSERT_EQ(address % 64, 0u);
    ASSERT_TRUE(std::all_of(table, table + bytes, [](unsigned char byte) { return byte == 0; })) << i;
    std::memset(table, 0xff, bytes);
  }
}

TEST(OsMemory, GivesRacingThreadsDisjointTables) {
  constexpr unsigned kThreads = 4;
  std::vector<std::vector<std::pair<std::uintptr_t, std::size_t>>> tables(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 2000; ++i) {
        std::size_t bytes = 64 + (i * 37 + t) % 2000;
        tables[t].emplace_back(reinterpret_cast<std::uintptr_t>(map_zeroed(bytes)), bytes);
      }
    });
  }
  std::vector<std::pair<std::uintptr_t, std::size_t>> all;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads[t].join();
    all.insert(all.end(), tables[t].begin(), tables[t].end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_NE(all.front().first, 0u);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_GE(all[i].first, all[i - 1].first + all[i - 1].second);
  }
}

TEST(OsMemory, TouchesLargeTablesLazily) {
  auto* table = static_cast<char*>(map_zeroed(1024 * kMiB));
  ASSERT_NE(table, nullptr);
  table[500 * kMiB] = 1;
  EXPECT_EQ(resident(table, 1024 * kMiB), page_size());
  unmap(table, 1024 * kMiB);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their shadow exceeds any limit
TEST(OsMemory, KnowsTheAddressSpaceLimit) {
  EXPECT_TRUE(succeeds_in_child([] {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::size_t{1} << 40;
    if (::setrlimit(RLIMIT_AS, &limit) != 0) {
      return false;
    }
    std::size_t before = address_space_left();
    void* range = reserve(512 * kMiB, page_size());
    std::size_t after = address_space_left();
    return range != nullptr && before < std::size_t{1} << 40 && before - after >= 512 * kMiB &&
           before - after < 520 * kMiB;
  }));
}

TEST(OsMemory, KnowsTheLimitOfData) {
  EXPECT_TRUE(succeeds_in_child([] {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = std::size_t{1} << 40;
    if (::setrlimit(RLIMIT_DATA, &limit) != 0) {
      return false;
    }
    std::size_t before = data_left();
    reserve(512 * kMiB, page_size());  // cannot be written to
    std::size_t reserved = data_left();
    map_zeroed(512 * kMiB);
    std::size_t after = data_left();
    return before < std::size_t{1} << 40 && before - reserved < 8 * kMiB && reserved - after >= 512 * kMiB;
  }));
}
#endif

TEST(OsMemory, MeasuresResidentMemory) {
  std::size_t before = resident_bytes();
  ASSERT_GT(before, 0u);
  auto* range = static_cast<char*>(map_zeroed(64 * kMiB));
  prefault(range, 64 * kMiB);
  EXPECT_GE(resident_bytes(), before + 60 * kMiB);
  unmap(range, 64 * kMiB);
}

TEST(OsClock, NeverGoesBack) {
  std::uint64_t before = monotonic_ns();
  ::usleep(2000);
  std::uint64_t after = monotonic_ns();
  EXPECT_GE(after - before, 2'000'000u);
  EXPECT_LT(after - before, 60'000'000'000u);
}

}  // namespace
}  // namespace hearth::os
