// PageHeap, one thread: what it hands out, what it keeps and what it gives back.
#include "arena/page_heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "platform/os_memory.h"
#include "platform/os_process.h"

namespace hearth::arena {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMiB = 1 << 20;

std::unique_ptr<PageHeap> heap_of(std::size_t bytes, std::uint64_t hold_ns = PageHeap::kHoldNs) {
  auto heap = std::make_unique<PageHeap>();
  EXPECT_TRUE(heap->init(bytes, hold_ns));
  return heap;
}

std::size_t resident(const void* begin, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / kPage);
  EXPECT_EQ(::mincore(const_cast<void*>(begin), bytes, pages.data()), 0);
  std::size_t count = 0;
  for (unsigned char page : pages) {
    count += page & 1;
  }
  return count * kPage;
}

std::size_t resident(const PageHeap& heap) {
  return resident(heap.begin(), static_cast<std::size_t>(static_cast<const char*>(heap.end()) -
                                                         static_cast<const char*>(heap.begin())));
}

TEST(PageHeap, GivesBlocksOfAtLeastTheSizeOnPagesOfTheirOwn) {
  auto heap = heap_of(1ul << 30);
  for (std::size_t bytes :
       {1ul, 64ul, 4095ul, 4096ul, 4097ul, 65'536ul, 69'633ul, kMiB, kMiB + 1, 5 * kMiB, 100 * kMiB}) {
    auto* block = static_cast<char*>(heap->allocate(bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % kPage, 0u);
    EXPECT_GE(heap->block_bytes(block), bytes);
    EXPECT_LE(heap->block_bytes(block), (bytes + kPage - 1) / kPage * kPage * 9 / 8);
    std::memset(block, 0x5a, heap->block_bytes(block));
    EXPECT_TRUE(heap->owns(block));
    EXPECT_TRUE(heap->owns(block + bytes - 1));
    EXPECT_LE(block + heap->block_bytes(block), static_cast<const char*>(heap->end()));
    heap->free(block);
  }
  EXPECT_EQ(heap->stats().live_bytes, 0u);
}

TEST(PageHeap, OwnsItsRangeOnly) {
  auto heap = heap_of(256 * kMiB);
  int local = 0;
  EXPECT_FALSE(heap->owns(&local));
  EXPECT_FALSE(heap->owns(nullptr));
  EXPECT_FALSE(heap->owns(static_cast<const char*>(heap->begin()) - 1));
  EXPECT_TRUE(heap->owns(heap->begin()));
  EXPECT_FALSE(heap->owns(static_cast<const char*>(heap->begin()) + heap->stats().reserved_bytes));
  EXPECT_EQ(heap->block_bytes(&local), 0u);
}

TEST(PageHeap, ReusesTheBlockFreedLastWithoutTouchingIt) {
  auto heap = heap_of(256 * kMiB);
  void* first = heap->allocate(10 * kPage);
  std::memset(first, 0x11, 10 * kPage);
  heap->free(first);
  ASSERT_EQ(::mprotect(first, 10 * kPage, PROT_NONE), 0);  // any access of the heap would end the test here
  EXPECT_EQ(heap->allocate(10 * kPage), first);
  ASSERT_EQ(::mprotect(first, 10 * kPage, PROT_READ), 0);
  EXPECT_EQ(static_cast<char*>(first)[5 * kPage], 0x11);
}

TEST(PageHeap, TakesASlightlyLargerResidentBlockBeforeNewMemory) {
  auto heap = heap_of(256 * kMiB);
  void* larger = heap->allocate(20 * kPage);
  heap->free(larger);
  EXPECT_EQ(heap->allocate(16 * kPage), larger);
  EXPECT_EQ(heap->block_bytes(larger), 20 * kPage);
  heap->free(larger);
  EXPECT_NE(heap->allocate(15 * kPage), larger) << "20 pages for 15 waste more than a quarter";
}

TEST(PageHeap, RefusesImpossibleSizesAndCountsThem) {
  auto heap = heap_of(256 * kMiB);
  std::size_t impossible[] = {0, SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - kPage, 1ul << 63, 256 * kMiB + 1, 1ul << 47};
  for (std::size_t bytes : impossible) {
    EXPECT_EQ(heap->allocate(bytes), nullptr) << bytes;
  }
  EXPECT_EQ(heap->stats().refused, std::size(impossible));
  EXPECT_EQ(heap->stats().live_bytes, 0u);
  EXPECT_EQ(heap->stats().committed_bytes, 0u);
}

TEST(PageHeap, ServesNothingBeforeInit) {
  PageHeap heap;
  EXPECT_EQ(heap.allocate(1), nullptr);
  EXPECT_FALSE(heap.owns(nullptr));
  EXPECT_FALSE(heap.owns(&heap));
  EXPECT_FALSE(heap.init(32 * kMiB)) << "less than 64 MiB is not worth a heap";
}

TEST(PageHeap, IgnoresFreesOfWhatIsNotABlockInUse) {
  auto heap = heap_of(256 * kMiB);
  auto* block = static_cast<char*>(heap->allocate(4 * kPage));
  int local = 0;
  heap->free(block + 64);
  heap->free(block + kPage);
  heap->free(block + 200 * kMiB);  // in the range, and never handed out
  EXPECT_EQ(heap->block_bytes(block + 200 * kMiB), 0u);
  heap->free(&local);
  heap->free(nullptr);
  heap->free(block);
  heap->free(block);
  EXPECT_EQ(heap->stats().bad_frees, 6u);
  void* first = heap->allocate(4 * kPage);
  EXPECT_NE(heap->allocate(4 * kPage), first);
}

TEST(PageHeap, IsExhaustedGracefullyAndCutsLargeBlocksThen) {
  auto heap = heap_of(64 * kMiB);
  std::vector<void*> blocks;
  while (void* block = heap->allocate(6 * kMiB)) {
    blocks.push_back(block);
  }
  EXPECT_GE(blocks.size(), 9u);
  EXPECT_EQ(heap->stats().refused, 1u);
  for (void* block : blocks) {
    heap->free(block);
  }
  // Only large free blocks are left; small ones come out of them, whole and disjoint.
  std::vector<char*> small;
  while (auto* block = static_cast<char*>(heap->allocate(100 * kPage))) {
    ASSERT_GE(heap->block_bytes(block), 100 * kPage);
    std::memset(block, static_cast<int>(small.size() % 251), 100 * kPage);
    small.push_back(block);
  }
  EXPECT_GE(small.size(), 9u * 15);
  for (std::size_t i = 0; i < small.size(); ++i) {
    ASSERT_EQ(small[i][0], static_cast<char>(i % 251));
    ASSERT_EQ(small[i][100 * kPage - 1], static_cast<char>(i % 251));
    heap->free(small[i]);
  }
  EXPECT_EQ(heap->stats().live_bytes, 0u);
}

TEST(PageHeap, CountsLiveAndCachedBytes) {
  auto heap = heap_of(256 * kMiB);
  void* a = heap->allocate(3 * kPage);
  void* b = heap->allocate(100 * kPage);
  std::size_t block_b = heap->block_bytes(b);
  EXPECT_EQ(heap->stats().live_bytes, 3 * kPage + block_b);
  EXPECT_EQ(heap->stats().cached_bytes, 0u);
  heap->free(b);
  EXPECT_EQ(heap->stats().live_bytes, 3 * kPage);
  EXPECT_EQ(heap->stats().cached_bytes, block_b);
  heap->free(a);
  EXPECT_EQ(heap->stats().cached_bytes, 3 * kPage + block_b);
  EXPECT_EQ(heap->trim(), 3 * kPage + block_b);
  EXPECT_EQ(heap->stats().cached_bytes, 0u);
  EXPECT_EQ(heap->allocate(100 * kPage), b);
  EXPECT_EQ(heap->stats().cached_bytes, 0u);
}

TEST(PageHeap, ReturnsPagesBeyondTheLimit) {
  auto heap = heap_of(4ul << 30, 0);
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) {
    blocks.push_back(heap->allocate(4 * kMiB));
    std::memset(blocks.back(), 1, 4 * kMiB);
  }
  ASSERT_EQ(resident(*heap), 256 * kMiB);
  for (void* block : blocks) {
    heap->free(block);
  }
  EXPECT_LE(resident(*heap), 64 * kMiB);
  EXPECT_EQ(heap->stats().returned_bytes, 192 * kMiB);
  EXPECT_EQ(heap->stats().cached_bytes, 64 * kMiB);
  // Returned blocks are found again, resident ones first, and no new address space is taken.
  std::uint64_t committed = heap->stats().committed_bytes;
  for (int i = 0; i < 64; ++i) {
    ASSERT_NE(heap->allocate(4 * kMiB), nullptr);
    EXPECT_EQ(resident(*heap), 64 * kMiB);
  }
  EXPECT_EQ(heap->stats().committed_bytes, committed);
}

// A training loop frees its activations once per iteration: they must not be faulted in again each time.
TEST(PageHeap, KeepsWhatACycleNeedsAgain) {
  auto heap = heap_of(4ul << 30);
  for (int iteration = 0; iteration < 5; ++iteration) {
    std::vector<void*> blocks;
    for (int i = 0; i < 64; ++i) {
      blocks.push_back(heap->allocate(4 * kMiB));
    }
    for (void* block : blocks) {
      heap->free(block);
    }
  }
  EXPECT_EQ(heap->stats().returned_bytes, 0u);
  EXPECT_EQ(heap->stats().committed_bytes, 256 * kMiB);
}

// What a former loop left in other sizes is what goes, not what the present loop allocates in every iteration.
TEST(PageHeap, ReturnsSizesThatNobodyWantsFirst) {
  auto heap = heap_of(4ul << 30);
  auto iterate = [&](std::size_t size, std::size_t count) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) blocks.push_back(heap->allocate(size));
    for (void* block : blocks) heap->free(block);
    return heap->stats().returned_bytes;
  };
  iterate(kMiB, 200);
  iterate(9 * kMiB, 40);
  std::uint64_t settled = 0;
  for (int i = 0; i < 10; ++i) settled = iterate(9 * kMiB, 40);
  EXPECT_GT(settled, 0u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(iterate(9 * kMiB, 40), settled) << "the loop faults its memory in again";
  }
}

TEST(PageHeap, ForgetsAPeakThatDoesNotComeAgain) {
  constexpr std::uint64_t kHold = 20'000'000;
  auto heap = heap_of(4ul << 30, kHold);
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) {
    blocks.push_back(heap->allocate(4 * kMiB));
  }
  for (void* block : blocks) {
    heap->free(block);
  }
  EXPECT_EQ(heap->stats().cached_bytes, 256 * kMiB);
  for (int i = 0; i < 20 && heap->stats().cached_bytes > 64 * kMiB; ++i) {
    ::usleep(2 * kHold / 1000);
    heap->free(heap->allocate(kPage));
  }
  EXPECT_LE(heap->stats().cached_bytes, 64 * kMiB);
}

// Memory cached in sizes that nobody wants any more goes before the process grows beyond its peak.
TEST(PageHeap, DoesNotGrowWhenTheSizesChange) {
  auto heap = heap_of(8ul << 30);
  std::size_t peak = 0;
  for (std::size_t size : {4 * kMiB, 5 * kMiB, 7 * kMiB, 10 * kMiB, 3 * kMiB}) {
    std::vector<void*> blocks;
    for (std::size_t total = 0; total < 400 * kMiB; total += size) {
      blocks.push_back(heap->allocate(size));
      HeapStats stats = heap->stats();
      peak = std::max<std::size_t>(peak, stats.live_bytes + stats.cached_bytes);
    }
    for (void* block : blocks) {
      heap->free(block);
    }
  }
  EXPECT_LE(peak, 400 * kMiB * 5 / 4 + 64 * kMiB);
}

TEST(PageHeap, StaysOneMapping) {
  auto heap = heap_of(16ul << 30);
  std::uint32_t before = os::mapping_count();
  std::mt19937 random(1);
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) {
    blocks.push_back(heap->allocate(1 + random() % (2 * kMiB)));
    std::memset(blocks.back(), 1, 1);
  }
  EXPECT_LE(os::mapping_count(), before + 64);  // the C library and sanitizers map a little meanwhile
}

TEST(PageHeap, AsksForHugePages) {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(setting, text);
  if (text.empty() || text.find("[never]") != std::string::npos) {
    GTEST_SKIP() << "transparent huge pages are off on this machine";
  }
  auto heap = heap_of(1ul << 30);
  auto* block = static_cast<char*>(heap->allocate(16 * kMiB));
  heap->advise_huge(block, 16 * kMiB);
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  char address[32];
  std::snprintf(address, sizeof address, "%lx-", reinterpret_cast<unsigned long>(block));
  bool inside = false;
  bool advised = false;
  while (std::getline(maps, line)) {
    if (line.find('-') != std::string::npos && line.find("kB") == std::string::npos && line.rfind("VmFlags", 0) != 0) {
      inside = line.rfind(address, 0) == 0;
    }
    advised = advised || (inside && line.rfind("VmFlags", 0) == 0 && line.find(" hg") != std::string::npos);
  }
  EXPECT_TRUE(advised);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their shadow exceeds any address space limit
// Bytes of a "VmSize:"-like line of /proc/self/status.
rlim_t process_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  rlim_t kib = 0;
  while (status >> word && word != name) {
  }
  status >> kib;
  return kib << 10;
}

// Runs in a child of its own, since limits cannot be taken back; the child has what earlier tests left mapped.
template <class Body>
void expect_in_child(Body body) {
  pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PageHeap, LeavesHalfOfALimitedAddressSpace) {
  expect_in_child([] {
    rlim_t bytes = process_bytes("VmSize:") + (4ul << 30);
    rlimit limit{bytes, bytes};
    PageHeap heap;
    bool good = ::setrlimit(RLIMIT_AS, &limit) == 0 && heap.init(1ul << 40);
    std::uint64_t reserved = heap.stats().reserved_bytes;
    good = good && reserved >= 1ul << 30 && reserved <= 2ul << 30;
    return good && heap.allocate(100 * kMiB) != nullptr && os::reserve(1ul << 30, kPage) != nullptr;
  });
}

TEST(PageHeap, GivesUnusedAddressSpaceBackForALimitToCome) {
  expect_in_child([] {
    PageHeap heap;
    bool good = heap.init(1ul << 40);
    auto* block = static_cast<char*>(heap.allocate(100 * kMiB));
    if (!good || block == nullptr) return false;
    std::memset(block, 1, 100 * kMiB);
    std::size_t reserved = heap.reserved();
    heap.fit_into(SIZE_MAX);
    good = heap.reserved() == reserved;
    rlim_t bytes = process_bytes("VmSize:") - reserved + (4ul << 30);
    rlimit limit{bytes, bytes};
    heap.fit_into(bytes);
    good = good && ::setrlimit(RLIMIT_AS, &limit) == 0 && os::reserve(1ul << 30, kPage) != nullptr;
    // What went back is not the heap's any more; what stayed serves on, to its end.
    good = good && !heap.owns(block + heap.reserved()) && block[100 * kMiB - 1] == 1;
    std::size_t taken = 0;
    while (auto* next = static_cast<char*>(heap.allocate(64 * kMiB))) {
      std::memset(next, 2, kPage);
      taken += 64 * kMiB;
    }
    heap.free(block);
    return good && taken >= 1ul << 30 && taken <= 4ul << 30 && heap.allocate(100 * kMiB) == block;
  });
}

// What a large machine makes it reserve, where the program's data are limited or locked in memory.
TEST(PageHeap, TakesNoMemoryForAddressesThatItNeverUses) {
  expect_in_child([] {
    std::size_t data = process_bytes("VmData:");
    PageHeap heap;
    bool good = heap.init(4ul << 40) && heap.reserved() == 4ul << 40;
    good = good && process_bytes("VmData:") - data <= kMiB;
    good = good && heap.allocate(3 * kPage) != nullptr && heap.allocate(100 * kMiB) != nullptr;
    return good && process_bytes("VmData:") - data <= 150 * kMiB;
  });
}

TEST(PageHeap, RefusesWhenTheSystemGivesNoMoreMemory) {
  expect_in_child([] {
    PageHeap heap;
    bool good = heap.init(8ul << 30);
    rlim_t bytes = process_bytes("VmData:") + 512 * kMiB;
    rlimit limit{bytes, bytes};
    good = good && ::setrlimit(RLIMIT_DATA, &limit) == 0;
    int blocks = 0;
    while (blocks < 1000 && heap.allocate(16 * kMiB) != nullptr) {
      ++blocks;
    }
    HeapStats stats = heap.stats();
    // The failed try was undone: what is committed is what is in use.
    return good && blocks >= 30 && blocks <= 32 && stats.refused == 1 && stats.committed_bytes == stats.live_bytes;
  });
}
#endif

}  // namespace
}  // namespace hearth::arena
