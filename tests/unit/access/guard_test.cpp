// What the guard sees of reads and writes between marks, and that whatever it does, the memory stays usable.
#include <csignal>

#include "unit/access/guard_fixture.h"

namespace hearth::access {
namespace {

TEST_F(GuardTest, ReadAndThenWriteOfOneOpAreBothSeen) {
  const Tensor tensor = make(3 * kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  touch(tensor.data);
  touch(tensor.data + 8);
  change(tensor.data);
  change(tensor.data + 1);
  EXPECT_EQ(seen(), (std::vector<Seen>{{tensor.slot, 0, HEARTH_ACCESS_READ}, {tensor.slot, 0, HEARTH_ACCESS_WRITE}}));
  EXPECT_EQ(stats().faults, 2u);
}

TEST_F(GuardTest, WriteOpensFully) {
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  change(tensor.data + 100);
  touch(tensor.data);
  EXPECT_EQ(seen(), (std::vector<Seen>{{tensor.slot, 0, HEARTH_ACCESS_WRITE}}));
}

TEST_F(GuardTest, EveryMarkArmsAgainWhatWasTouched) {
  const Tensor first = make(2 * kPage);
  const Tensor second = make(2 * kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(first) && watch_it(second));
  for (int op = 0; op < 5; ++op) {
    touch(first.data);
    if (op == 2) change(second.data);
    rearm();
    rearm();  // nothing was opened since: nothing to do
  }
  const Seen read{first.slot, 0, HEARTH_ACCESS_READ};
  EXPECT_EQ(seen(), (std::vector<Seen>{read, read, read, {second.slot, 0, HEARTH_ACCESS_WRITE}, read, read}));
}

TEST_F(GuardTest, OnlyTheFirstPageIsGuardedInFaultsMode) {
  const Tensor tensor = make(64 * kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  hearth_watch how;
  std::uint32_t pages = 0;
  ASSERT_TRUE(watch(tensor.slot, &how, &pages));
  EXPECT_EQ(how, HEARTH_WATCH_FIRST_PAGE);
  EXPECT_EQ(pages, 1u);
  change(tensor.data + kPage);
  change(tensor.data + 63 * kPage);
  EXPECT_TRUE(seen().empty());
}

TEST_F(GuardTest, ReadingBeyondTheLastByteInItsPageIsNoCrash) {
  const Tensor tensor = make(100);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  touch(tensor.data + 2000);  // vectorised loops load whole registers
  EXPECT_EQ(stats().faults, 1u);
}

TEST_F(GuardTest, LeavesOpenWhatSharesPagesAndWhatIsWatchedAlready) {
  const Tensor own = make(kPage);
  void* shared = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const TensorSlot slot = registry_.add({shared, 512, NameId{}, 0, 0, 0, false});
  ASSERT_TRUE(start(registry_, {}, remember));
  EXPECT_FALSE(watch_it({static_cast<char*>(shared), slot}));
  EXPECT_TRUE(watch_it(own));
  EXPECT_FALSE(watch_it(own));
}

TEST_F(GuardTest, ForgottenMemoryIsOpenAndItsNextTenantIsWatchedAfresh) {
  const Tensor old = make(2 * kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(old));
  touch(old.data);  // on the list of pages to be armed again
  free_it(old);
  rearm();
  change(old.data);
  EXPECT_EQ(seen().size(), 1u);

  const Tensor next{old.data, registry_.add({old.data, kPage, NameId{}, 0, 0, 0, true})};
  EXPECT_EQ(next.slot, old.slot);  // the registry reuses slots: the case that matters
  ASSERT_TRUE(watch_it(next));
  change(next.data);
  EXPECT_EQ(seen().back(), (Seen{next.slot, 0, HEARTH_ACCESS_WRITE}));
}

TEST_F(GuardTest, AfterStopEverythingIsOpenAndTheNextRunStartsClean) {
  const Tensor tensor = make(4 * kPage);
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(start(registry_, {}, remember));
    ASSERT_TRUE(watch_it(tensor));
    touch(tensor.data);
    EXPECT_EQ(stats().faults, 1u) << "run " << run;
    rearm();
    stop();
    EXPECT_FALSE(active());
    change(tensor.data);
    EXPECT_EQ(stats().faults, 1u) << "run " << run;
    forget(tensor.slot);
  }
}

TEST_F(GuardTest, TheHandlerOutlivesTheRunAndPassesEverythingOn) {
  static volatile sig_atomic_t called;
  struct sigaction mine {};
  struct sigaction now {};
  mine.sa_handler = [](int) { called = called + 1; };
  sigaction(SIGSEGV, &mine, nullptr);
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(start(registry_, {}, remember));
    stop();
    sigaction(SIGSEGV, nullptr, &now);  // not interposed in this program: the truth
    EXPECT_NE(now.sa_handler, mine.sa_handler);
    raise(SIGSEGV);
    EXPECT_EQ(called, run + 1);
  }
  sigaction(SIGSEGV, &mine, nullptr);  // a program that goes round us between runs
  ASSERT_TRUE(start(registry_, {}, remember));
  raise(SIGSEGV);
  EXPECT_EQ(called, 4);
  EXPECT_FALSE(stats().handler_stolen);
  EXPECT_EQ(status_of_child([&] {
              child_after_fork();
              sigaction(SIGSEGV, nullptr, &now);
              return now.sa_handler == mine.sa_handler ? 0 : 1;
            }),
            0);
}

TEST_F(GuardTest, PagesModeCountsTheShareThatAnOpTouches) {
  constexpr std::size_t kPages = 4096;
  const Tensor tensor = make(kPages * kPage);
  GuardOptions options;
  options.sample_pages = true;
  options.samples_per_tensor = 256;
  ASSERT_TRUE(start(registry_, options, remember));
  hearth_watch how;
  std::uint32_t pages = 0;
  ASSERT_TRUE(watch(tensor.slot, &how, &pages));
  EXPECT_EQ(how, HEARTH_WATCH_SAMPLED_PAGES);
  ASSERT_EQ(pages, 257u);
  // The first quarter, one contiguous stretch: exactly a quarter of the strata, up to the one on the border.
  for (std::size_t i = 0; i < kPages / 4; ++i) touch(tensor.data + i * kPage);
  EXPECT_NEAR(static_cast<double>(stats().faults - 1), 64, 1);
  rearm();
  // Every second page: the estimate's standard error is sqrt(0.25 / 256) = 3.1 %; 4 sigma.
  const std::uint64_t before = stats().faults;
  for (std::size_t i = 0; i < kPages; i += 2) change(tensor.data + i * kPage);
  EXPECT_NEAR(static_cast<double>(stats().faults - before - 1) / 256, 0.5, 0.125);
}

TEST_F(GuardTest, SmallTensorsInPagesModeAreGuardedPageByPage) {
  const Tensor tensor = make(16 * kPage);
  GuardOptions options;
  options.sample_pages = true;
  options.sample_min_bytes = kPage;
  ASSERT_TRUE(start(registry_, options, remember));
  hearth_watch how;
  std::uint32_t pages = 0;
  ASSERT_TRUE(watch(tensor.slot, &how, &pages));
  EXPECT_EQ(pages, 16u);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 16; i += 3) touch(tensor.data + i * kPage);
    rearm();
  }
  EXPECT_EQ(stats().faults, 18u);
  EXPECT_EQ(seen()[1], (Seen{tensor.slot, 3, HEARTH_ACCESS_READ}));
}

TEST_F(GuardTest, PreparedBuffersStayOpenTillStopAndAreReported) {
  const Tensor tensor = make(4 * kPage);
  const Tensor other = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor) && watch_it(other));
  prepare_io(tensor.data + 10, 20, HEARTH_ACCESS_READ);
  EXPECT_EQ(seen(), (std::vector<Seen>{{tensor.slot, 0, HEARTH_ACCESS_READ}}));
  rearm();
  change(tensor.data);
  EXPECT_EQ(stats().faults, 0u);
  EXPECT_EQ(stats().kernel_io, 1u);
  char elsewhere[16] = {};
  prepare_io(elsewhere, sizeof elsewhere, HEARTH_ACCESS_READ);
  prepare_io(tensor.data + 2 * kPage, kPage, HEARTH_ACCESS_READ);  // no guarded page there
  EXPECT_EQ(stats().kernel_io, 1u);
  change(other.data);
  EXPECT_EQ(stats().faults, 1u);
}

TEST_F(GuardTest, ChildOfAForkReadsEverythingAndReportsNothing) {
  const Tensor armed = make(4 * kPage);
  const Tensor readable = make(4 * kPage);
  armed.data[5] = 42;
  GuardOptions options;
  options.sample_pages = true;
  options.sample_min_bytes = kPage;
  ASSERT_TRUE(start(registry_, options, remember));
  ASSERT_TRUE(watch_it(armed) && watch_it(readable));
  touch(readable.data);
  const int status = status_of_child([&] {
    child_after_fork();
    const std::uint64_t before = stats().faults;
    change(readable.data);
    for (std::size_t i = 0; i < 4 * kPage; ++i) change(armed.data + i);
    forget(armed.slot);
    return stats().faults == before && !active() ? 7 : 1;
  });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(armed.data[5], 42);
  EXPECT_TRUE(active());
}

TEST_F(GuardTest, FaultCostIsMeasuredWithAndWithoutARun) {
  const std::uint64_t idle = measure_fault_ns();
  EXPECT_GT(idle, 100u);
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  EXPECT_GT(measure_fault_ns(), 100u);
  touch(tensor.data);
  EXPECT_EQ(stats().faults, 1u);  // calibration is not counted
  RecordProperty("fault_ns", std::to_string(idle));
}

}  // namespace
}  // namespace hearth::access
