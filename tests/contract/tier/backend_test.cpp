// The contract of tier::Backend, for every backend that can be had here. The numa backend needs two nodes; where there
// is one its tests are not there, unless HEARTH_TEST_NUMA=1 demands them (in the guest that scripts/vm boots).
#include "tier/backend.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "platform/os_memory.h"
#include "tier/emulated_backend.h"
#include "tier/numa_backend.h"
#include "tier/single_backend.h"

namespace hearth::tier {
namespace {

constexpr std::uint64_t kPage = Pages::kPage;

// The nodes with memory, as the kernel lists them: "0-1,4".
os::NodeMask nodes_with_memory() {
  os::NodeMask mask;
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string text;
  std::getline(file, text);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = 0;
    const unsigned first = static_cast<unsigned>(std::stoul(text.substr(at), &used));
    unsigned last = first;
    at += used;
    if (at < text.size() && text[at] == '-') {
      last = static_cast<unsigned>(std::stoul(text.substr(at + 1), &used));
      at += used + 1;
    }
    for (unsigned node = first; node <= last; ++node) mask.set(node);
    ++at;  // the comma
  }
  return mask;
}

Machine quick_machine() {
  Machine machine;
  machine.fast.write = 8e9;
  machine.move_to_fast = 4e9;
  machine.move_to_slow = 2e9;
  return machine;
}

struct Memory {
  explicit Memory(std::uint64_t bytes_) : bytes(bytes_), base(os::reserve(bytes_, std::size_t{2} << 20)) {
    os::commit(base, bytes);
  }
  ~Memory() { os::unmap(base, bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  unsigned char* data() const { return static_cast<unsigned char*>(base); }
  Extent pages(std::uint64_t first, std::uint64_t count) const { return {data() + first * kPage, count * kPage}; }
  Extent all() const { return {base, bytes}; }
  static unsigned char pattern(std::uint64_t i) { return static_cast<unsigned char>(i * 131 + i / kPage); }
  void fill() const {
    for (std::uint64_t i = 0; i < bytes; ++i) data()[i] = pattern(i);
  }
  bool intact() const { return intact(0, bytes); }
  bool intact(std::uint64_t from, std::uint64_t to) const {
    for (std::uint64_t i = from; i < to; ++i) {
      if (data()[i] != pattern(i)) return false;
    }
    return true;
  }
  bool zero(std::uint64_t from, std::uint64_t to) const {
    return std::all_of(data() + from, data() + to, [](unsigned char byte) { return byte == 0; });
  }

  std::uint64_t bytes;
  void* base;
};

bool numa_demanded() { return std::getenv("HEARTH_TEST_NUMA") != nullptr; }

std::vector<std::string> numa_here() {
  if (!numa_demanded() && nodes_with_memory().count() < 2) return {};
  return {"numa"};
}

std::vector<std::string> all_here() {
  std::vector<std::string> backends{"single", "emulated"};
  for (const std::string& name : numa_here()) backends.push_back(name);
  return backends;
}

class BackendTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    if (name == "single") {
      backend = &single;
    } else if (name == "emulated") {
      ASSERT_TRUE(emulated.init(quick_machine()));
      backend = &emulated;
    } else {
      const os::NodeMask nodes = nodes_with_memory();
      ASSERT_GE(nodes.count(), 2u) << "HEARTH_TEST_NUMA asks for two nodes";
      os::NodeMask fast;
      os::NodeMask slow;
      fast.set(nodes.next(0));
      slow.set(nodes.next(nodes.next(0) + 1));
      numa.init(fast, slow);
      backend = &numa;
    }
  }

  bool real() const { return backend == &numa; }
  std::vector<Tier> locate(Extent pages) const {
    std::vector<Tier> tiers(pages.bytes / kPage);
    EXPECT_EQ(backend->locate(pages.address, tiers.size(), tiers.data()), 0);
    return tiers;
  }
  std::size_t count_on(Extent pages, Tier tier) const {
    const std::vector<Tier> tiers = locate(pages);
    return static_cast<std::size_t>(std::count(tiers.begin(), tiers.end(), tier));
  }

  SingleBackend single;
  EmulatedBackend emulated;
  NumaBackend numa;
  Backend* backend = nullptr;
};

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
  EXPECT_EQ(backend->drop_clean(memory.all()), backend == &emulated);
  EXPECT_TRUE(memory.intact());
}

// Begins and ends in the middle of pages, which it shares with others.
TEST_P(BackendTest, WhatIsForgottenIsTheExtentsOwnPagesAlone) {
  const Memory memory(12 * kPage);
  os::advise_small(memory.base, memory.bytes);
  memory.fill();
  const Extent dead{memory.data() + 2 * kPage + 100, 6 * kPage};
  const bool gone = backend->forget(dead);
  EXPECT_EQ(gone, backend->tiered());
  for (const Tier to : {Tier::slow, Tier::fast}) {
    const Moved moved = backend->move_dead(dead, to);
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

TEST_P(BackendTest, NothingIsForgottenOfLessThanAPage) {
  const Memory memory(3 * kPage);
  memory.fill();
  backend->forget({memory.data() + 100, 2 * kPage - 200});
  backend->forget({memory.data() + kPage, 0});
  EXPECT_TRUE(memory.intact());
}

TEST_P(BackendTest, ADeadMoveOfWhatNobodyForgotKeepsIt) {
  const Memory memory(Backend::kMoveUnit + 3 * kPage);
  memory.fill();
  for (const Tier to : {Tier::slow, Tier::fast}) {
    const Moved moved = backend->move_dead(memory.all(), to);
    EXPECT_EQ(moved.there + moved.absent + moved.failed, memory.bytes);
    EXPECT_TRUE(memory.intact());
    if (real()) {
      EXPECT_EQ(count_on(memory.all(), to), memory.bytes / kPage);
    }
  }
}

// New memory is on the fast tier before anybody touches it, on the slow one when somebody does.
TEST_P(NumaBackendTest, ForgottenPagesComeBackOnTheOtherTier) {
  const Memory memory(64 * kPage);
  os::advise_small(memory.base, memory.bytes);
  ASSERT_EQ(backend->bind(memory.all(), Tier::slow), 0);
  memory.fill();
  ASSERT_TRUE(backend->forget(memory.pages(8, 32)));
  EXPECT_EQ(count_on(memory.pages(8, 32), Tier::none), 32u);
  Moved moved = backend->move_dead(memory.pages(8, 32), Tier::fast);
  EXPECT_TRUE(moved.bound);
  EXPECT_EQ(moved.there, 32 * kPage);
  EXPECT_EQ(count_on(memory.pages(8, 32), Tier::fast), 32u);
  EXPECT_EQ(count_on(memory.all(), Tier::slow), 32u);
  ASSERT_TRUE(backend->forget(memory.pages(8, 32)));
  moved = backend->move_dead(memory.pages(8, 32), Tier::slow);
  EXPECT_TRUE(moved.bound);
  EXPECT_EQ(moved.absent, 32 * kPage);
  memory.fill();
  EXPECT_EQ(count_on(memory.all(), Tier::slow), 64u);
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

// The owner forgets and writes at once, while a mover brings new memory, one way and the other: every write survives.
TEST_P(BackendTest, TheOwnerIsQuickerThanTheMover) {
  constexpr std::uint64_t kRounds = 60;
  const Memory memory(Backend::kMoveUnit);
  os::advise_small(memory.base, memory.bytes);
  memory.fill();
  const std::uint64_t first = 16, count = 128;
  const Extent stretch = memory.pages(first, count);
  std::atomic<bool> go{true};
  std::atomic<std::uint64_t> moves{0};
  std::thread mover([&] {
    for (; go; ++moves) backend->move_dead(stretch, moves % 2 == 0 ? Tier::fast : Tier::slow);
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

// Dead contents cost the zeroing of their place in fast memory, and nothing where the place is slow.
TEST(EmulatedBackendTest, DeadMovesCostZeroing) {
  Machine machine = quick_machine();
  machine.move_to_fast = machine.move_to_slow = 1;  // a copy would not end in a lifetime
  EmulatedBackend backend;
  ASSERT_TRUE(backend.init(machine));
  const Memory memory(8 * Backend::kMoveUnit);
  memory.fill();
  const double spent = seconds_of([&] { EXPECT_EQ(backend.move_dead(memory.all(), Tier::fast).there, memory.bytes); });
  EXPECT_GE(spent, static_cast<double>(memory.bytes) / machine.fast.write);
  EXPECT_EQ(backend.move_dead(memory.all(), Tier::slow).there, memory.bytes);
  EXPECT_TRUE(memory.intact());
}

TEST(EmulatedBackendTest, AMachineWithoutSpeedsIsRefused) {
  EmulatedBackend backend;
  EXPECT_FALSE(backend.init(Machine{}));
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendTest, ::testing::ValuesIn(all_here()),
                         [](const auto& each) { return each.param; });
INSTANTIATE_TEST_SUITE_P(Backends, NumaBackendTest, ::testing::ValuesIn(numa_here()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace hearth::tier
