// The contract of tier::Backend, for every backend that can be had here.
#include "tier/backend.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "contract/tier/backend_fixture.h"

namespace hearth::tier {
namespace {

// What only real nodes have: pages that lie somewhere, that are not there yet, that cannot move.
class NumaBackendTest : public BackendTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NumaBackendTest);

TEST_P(BackendTest, SaysWhatItIs) {
  EXPECT_EQ(backend->name(), GetParam());
  EXPECT_EQ(backend->tiered(), backend != &single);
}

TEST_P(BackendTest, ContentsSurviveMovesThereAndBack) {
  const Memory memory(5 * Backend::kMoveUnit + 3 * kPage);
  memory.fill();
  for (int round = 0; round < 2; ++round) {
    for (const Tier to : {Tier::slow, Tier::fast}) {
      const Moved moved = backend->move(memory.all(), to);
      EXPECT_EQ(moved.there + moved.absent + moved.failed, memory.bytes);
      if (backend->tiered()) {
        EXPECT_EQ(moved.failed, 0u) << std::strerror(moved.error);
        EXPECT_EQ(moved.there, memory.bytes);
        EXPECT_EQ(moved.error, 0);
      }
      EXPECT_TRUE(memory.intact());
      if (real()) {
        EXPECT_EQ(count_on(memory.all(), to), memory.bytes / kPage);
      }
    }
  }
}

TEST(SingleBackendTest, OneTierRefusesAndSaysSo) {
  SingleBackend backend;
  const Memory memory(4 * kPage);
  memory.fill();
  const Moved moved = backend.move(memory.all(), Tier::slow);
  EXPECT_EQ(moved.failed, memory.bytes);
  EXPECT_EQ(moved.error, ENODEV);
  EXPECT_EQ(backend.bind(memory.all(), Tier::slow), ENODEV);
  EXPECT_EQ(backend.bind(memory.all(), Tier::fast), 0);
}

TEST_P(BackendTest, BoundPagesComeFromTheirTier) {
  if (!backend->tiered()) return;  // has nothing to bind to
  const Memory memory(64 * kPage);
  EXPECT_EQ(backend->bind(memory.pages(0, 32), Tier::slow), 0);
  EXPECT_EQ(backend->bind(memory.pages(32, 32), Tier::fast), 0);
  memory.fill();
  if (!real()) return;
  EXPECT_EQ(count_on(memory.pages(0, 32), Tier::slow), 32u);
  EXPECT_EQ(count_on(memory.pages(32, 32), Tier::fast), 32u);
}

// A binding asks; what is there stays.
TEST_P(NumaBackendTest, BindingMovesNothing) {
  const Memory memory(16 * kPage);
  ASSERT_EQ(backend->bind(memory.all(), Tier::fast), 0);
  memory.fill();
  ASSERT_EQ(backend->bind(memory.all(), Tier::slow), 0);
  EXPECT_EQ(count_on(memory.all(), Tier::fast), 16u);
}

TEST_P(BackendTest, NothingToMoveIsNoFailure) {
  const Memory memory(kPage);
  const Moved moved = backend->move({memory.base, 0}, Tier::fast);
  EXPECT_EQ(moved.there + moved.absent + moved.failed, 0u);
  EXPECT_EQ(moved.error, 0);
}

TEST_P(NumaBackendTest, PagesThatWereNeverTouchedAreNoFailure) {
  const Memory memory(8 * kPage);
  os::advise_small(memory.base, memory.bytes);
  memory.data()[0] = 1;
  memory.data()[5 * kPage] = 1;
  const Moved moved = backend->move(memory.all(), Tier::slow);
  EXPECT_EQ(moved.there, 2 * kPage);
  EXPECT_EQ(moved.absent, 6 * kPage);
  EXPECT_EQ(moved.failed, 0u);
  EXPECT_EQ(count_on(memory.all(), Tier::none), 6u);
}

// A range that begins and ends in the middle of pages moves those pages whole, and no other.
TEST_P(NumaBackendTest, MisalignedRangesMoveTheirWholePages) {
  const Memory memory(8 * kPage);
  os::advise_small(memory.base, memory.bytes);
  ASSERT_EQ(backend->bind(memory.all(), Tier::fast), 0);
  memory.fill();
  const Moved moved = backend->move({memory.data() + 2 * kPage + 100, 2 * kPage}, Tier::slow);
  EXPECT_EQ(moved.there, 3 * kPage);
  const std::vector<Tier> tiers = locate(memory.all());
  for (std::size_t i = 0; i < tiers.size(); ++i) EXPECT_EQ(tiers[i] == Tier::slow, i >= 2 && i < 5) << i;
  EXPECT_TRUE(memory.intact());
}

// Huge pages report EBUSY for one of their small pages although they moved: not to be believed.
TEST_P(NumaBackendTest, HugePagesMoveWhole) {
  const Memory memory(4 * Backend::kMoveUnit);
  os::advise_huge(memory.base, memory.bytes);
  memory.fill();
  for (const Tier to : {Tier::slow, Tier::fast}) {
    const Moved moved = backend->move(memory.all(), to);
    EXPECT_EQ(moved.there, memory.bytes);
    EXPECT_EQ(moved.failed, 0u);
    EXPECT_EQ(count_on(memory.all(), to), memory.bytes / kPage);
  }
  EXPECT_TRUE(memory.intact());
}

// Some pages cannot move: they are counted, the others move all the same.
TEST_P(NumaBackendTest, PartialFailureIsCounted) {
  const Memory memory(16 * kPage);
  os::advise_small(memory.base, memory.bytes);
  ASSERT_EQ(backend->bind(memory.all(), Tier::fast), 0);
  memory.fill();
  // A page that another process has mapped too does not move under MPOL_MF_MOVE.
  const int pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  memory.data()[3 * kPage] = memory.data()[3 * kPage];  // page 3 is this process's own again
  const Moved moved = backend->move(memory.all(), Tier::slow);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(moved.there + moved.failed, memory.bytes);
  EXPECT_GT(moved.failed, 0u);
  EXPECT_NE(moved.error, 0);
  EXPECT_TRUE(memory.intact());
  EXPECT_EQ(count_on(memory.all(), Tier::slow) * kPage, moved.there);
}

// More than the fast node holds: what does not fit stays, nothing is killed.
TEST_P(NumaBackendTest, AFullTierTakesWhatFits) {
  if (!numa_demanded()) GTEST_SKIP() << "fills a node: in a guest only (HEARTH_TEST_NUMA=1)";
  std::ifstream meminfo("/sys/devices/system/node/node0/meminfo");
  std::uint64_t free_kb = 0;
  for (std::string line; std::getline(meminfo, line);) {
    if (line.find("MemFree") != std::string::npos) free_kb = std::stoull(line.substr(line.find(':') + 1));
  }
  const Memory memory((free_kb * 1024 / kPage + 16384) * kPage);
  ASSERT_EQ(backend->bind(memory.all(), Tier::fast), 0);
  for (std::uint64_t i = 0; i < memory.bytes; i += kPage) memory.data()[i] = static_cast<unsigned char>(i / kPage);
  const std::size_t spilt = count_on(memory.all(), Tier::slow);
  EXPECT_GT(spilt, 0u) << "a preferred binding must spill";
  const Moved moved = backend->move(memory.all(), Tier::fast);
  EXPECT_EQ(moved.there + moved.absent + moved.failed, memory.bytes);
  for (std::uint64_t i = 0; i < memory.bytes; i += kPage) {
    ASSERT_EQ(memory.data()[i], static_cast<unsigned char>(i / kPage));
  }
}

TEST_P(BackendTest, TheProgramWritesWhilePagesMove) {
  const Memory memory(2 * Backend::kMoveUnit);
  memory.fill();
  std::atomic<bool> go{true};
  std::atomic<std::uint64_t> written{0};
  std::thread program([&] {
    // A counter on every page: each must arrive.
    for (; go; ++written) {
      for (std::uint64_t page = 0; page < memory.bytes / kPage; ++page) {
        auto* counter = reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data() + page * kPage);
        counter->store(written, std::memory_order_relaxed);
      }
    }
  });
  for (int i = 0; i < 6; ++i) backend->move(memory.all(), i % 2 == 0 ? Tier::slow : Tier::fast);
  while (written == 0) std::this_thread::yield();
  go = false;
  program.join();
  ASSERT_GT(written, 0u);
  for (std::uint64_t page = 0; page < memory.bytes / kPage; ++page) {
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(memory.data() + page * kPage), written - 1);
  }
}

TEST_P(BackendTest, SeveralMoversAtOnce) {
  const Memory memory(4 * Backend::kMoveUnit);
  memory.fill();
  std::vector<std::thread> movers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    movers.emplace_back([&, i] {
      const Extent part{memory.data() + i * Backend::kMoveUnit, Backend::kMoveUnit};
      for (const Tier to : {Tier::slow, Tier::fast, Tier::slow}) backend->move(part, to);
    });
  }
  for (std::thread& mover : movers) mover.join();
  EXPECT_TRUE(memory.intact());
  if (real()) {
    EXPECT_EQ(count_on(memory.all(), Tier::slow), memory.bytes / kPage);
  }
}

TEST_P(BackendTest, OnlyABackendWithTwoCopiesDropsOne) {
  const Memory memory(kPage);
  memory.fill();
  EXPECT_EQ(backend->drop_clean(memory.all()), backend->keeps_copies());
  EXPECT_EQ(backend->keeps_copies(), backend == &emulated);
  EXPECT_TRUE(memory.intact());
}

// Whole units are moved by both system calls in turn until one is known to be quicker. By either they arrive, and the
// range is bound if and only if that is said.
TEST_P(NumaBackendTest, WholeUnitsMoveByTheQuickerCall) {
  const Memory memory(2 * Backend::kMoveUnit);
  os::advise_small(memory.base, memory.bytes);
  memory.fill();
  const auto unit = [&](std::uint64_t i) { return Extent{memory.data() + i * Backend::kMoveUnit, Backend::kMoveUnit}; };
  std::size_t bound = 0;
  std::size_t moves = 0;
  for (std::uint32_t round = 0; round < QuickerWay::kTrials; ++round) {
    for (const Tier to : {Tier::slow, Tier::fast}) {
      EXPECT_STREQ(numa.moves_by(to), "measuring");
      for (const std::uint64_t i : {0, 1}) {
        const Moved moved = backend->move(unit(i), to);
        EXPECT_EQ(moved.there, Backend::kMoveUnit);
        bound += moved.bound ? 1 : 0;
        ++moves;
      }
      EXPECT_EQ(count_on(memory.all(), to), memory.bytes / kPage);
    }
  }
  EXPECT_EQ(bound, moves / 2);
  EXPECT_TRUE(memory.intact());
  for (const Tier to : {Tier::slow, Tier::fast}) {
    EXPECT_STRNE(numa.moves_by(to), "measuring");
    const Moved moved = backend->move(unit(0), to);
    EXPECT_EQ(moved.bound, std::string(numa.moves_by(to)) == "mbind");
    ASSERT_EQ(os::discard(unit(0).mutable_address(), Backend::kMoveUnit), 0);
    std::memset(unit(0).mutable_address(), 1, Backend::kMoveUnit);
    if (moved.bound) {
      EXPECT_EQ(count_on(unit(0), to), Backend::kMoveUnit / kPage);
    }
  }
}

// Pages that have no memory when they are to move get it from there later on.
TEST_P(NumaBackendTest, AMoveOfPagesWithoutMemoryBindsThem) {
  const Memory memory(16 * kPage);
  os::advise_small(memory.base, memory.bytes);
  ASSERT_EQ(backend->bind(memory.all(), Tier::fast), 0);
  memory.data()[0] = 1;
  const Moved moved = backend->move(memory.all(), Tier::slow);
  EXPECT_TRUE(moved.bound);
  memory.fill();
  EXPECT_EQ(count_on(memory.all(), Tier::slow), 16u);
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendTest, ::testing::ValuesIn(all_here()),
                         [](const auto& each) { return each.param; });
INSTANTIATE_TEST_SUITE_P(Backends, NumaBackendTest, ::testing::ValuesIn(numa_here()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace hearth::tier
