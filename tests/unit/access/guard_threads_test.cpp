// Many threads on few pages while the main thread arms, frees and stops: nobody crashes, hangs or loses a fault.
#include <csignal>
#include <thread>
#include <vector>

#include "access/io_guard.h"
#include "unit/access/guard_fixture.h"

namespace hearth::access {
namespace {

TEST_F(GuardTest, TwoThreadsFaultOnOnePage100kTimes) {
  constexpr std::uint64_t kFaults = 100'000;
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, [](TensorSlot, std::uint32_t, hearth_access) {}));
  ASSERT_TRUE(watch_it(tensor));
  auto* mine = reinterpret_cast<std::atomic<std::uint64_t>*>(tensor.data);
  auto* theirs = mine + 8;
  std::uint64_t written = 0;
  std::thread other([&] {
    for (; stats().faults < kFaults; ++written) theirs->fetch_add(1, std::memory_order_relaxed);
  });
  std::uint64_t rounds = 0;
  for (; stats().faults < kFaults; ++rounds) {
    rearm();
    mine->fetch_add(1, std::memory_order_relaxed);
  }
  other.join();
  EXPECT_EQ(stats().foreign, 0u);
  EXPECT_EQ(*mine, rounds);
  EXPECT_EQ(*theirs, written) << "every write happened once";
  RecordProperty("raced", std::to_string(stats().raced));
}

TEST_F(GuardTest, SixtyFourThreadsReadAndWriteWhileTheirPagesAreArmed) {
  constexpr int kThreads = 64;
  constexpr int kTensors = 16;
  std::vector<Tensor> tensors;
  for (int i = 0; i < kTensors; ++i) tensors.push_back(make(4 * kPage));
  GuardOptions options;
  options.sample_pages = true;
  options.sample_min_bytes = kPage;
  ASSERT_TRUE(start(registry_, options, remember));
  for (const Tensor& tensor : tensors) ASSERT_TRUE(watch_it(tensor));
  std::atomic<bool> go_on{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = static_cast<unsigned>(t); go_on; i = i * 1664525u + 1013904223u) {
        auto* number = reinterpret_cast<std::atomic<std::uint32_t>*>(tensors[i % kTensors].data + i / 64 % 4 * kPage);
        number->fetch_add(1);
      }
    });
  }
  for (int i = 0; i < 300 || stats().faults < 500; ++i) rearm();
  stop();  // in the middle of it
  go_on = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats().foreign, 0u);
}

TEST_F(GuardTest, TensorsComeAndGoOnOtherThreadsWhileTheMainThreadArms) {
  ASSERT_TRUE(start(registry_, {}, remember));
  std::atomic<bool> go_on{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      auto* data =
          static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      while (go_on) {
        const Tensor tensor{data, registry_.add({data, 4 * kPage, NameId{}, 0, 0, 0, true})};
        watch_it(tensor);
        touch(tensor.data);
        change(tensor.data);
        free_it(tensor);
        change(data);  // the allocator's next tenant
      }
    });
  }
  while (stats().faults < 3000) rearm();
  stop();
  usleep(1000);
  go_on = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats().foreign, 0u);
}

// As when a profile begins while other threads allocate: what is armed may be freed, and its memory handed on, at any
// moment of it.
TEST_F(GuardTest, TheMainThreadWatchesTensorsThatOthersAreJustFreeing) {
  std::atomic<bool> go_on{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      auto* data =
          static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      while (go_on) {
        const Tensor tensor{data, registry_.add({data, 2 * kPage, NameId{}, 0, 0, 0, true})};
        change(tensor.data);
        free_it(tensor);
        change(data);  // the allocator's next tenant
      }
    });
  }
  std::uint64_t watched = 0;
  while (watched < 500) {
    ASSERT_TRUE(start(registry_, {}, [](TensorSlot, std::uint32_t, hearth_access) {})) << refusal();
    for (int round = 0; round < 20; ++round) {
      for (std::uint32_t i = 1; i < registry_.slot_limit(); ++i) watch_it({nullptr, TensorSlot{i}});
    }
    stop();
    watched += stats().watched;
    EXPECT_EQ(stats().foreign, 0u);
  }
  go_on = false;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GuardTest, APageInUseByASystemCallIsNotArmedUntilItEnds) {
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  ssize_t got = 0;
  std::atomic<bool> waiting{false};
  std::thread reader([&] {
    IoGuard io;
    io.fills(tensor.data, 8);
    waiting = true;
    got = read(pipes[0], tensor.data, 8);
  });
  while (!waiting) usleep(100);
  usleep(2000);
  for (int i = 0; i < 10; ++i) rearm();
  EXPECT_EQ(write(pipes[1], "12345678", 8), 8);
  reader.join();
  EXPECT_EQ(got, 8) << "EFAULT: the page was armed under the system call";
  EXPECT_EQ(seen(), (std::vector<Seen>{{tensor.slot, 0, HEARTH_ACCESS_WRITE}}));
  rearm();
  touch(tensor.data);
  EXPECT_EQ(stats().faults, 1u) << "armed again once the call was over";
  EXPECT_EQ(std::string(tensor.data, 8), "12345678");
  close(pipes[0]);
  close(pipes[1]);
}

TEST_F(GuardTest, ForksInMidProfileUnderLoad) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 32; ++i) tensors.push_back(make(2 * kPage));
  ASSERT_TRUE(start(registry_, {}, remember));
  for (const Tensor& tensor : tensors) ASSERT_TRUE(watch_it(tensor));
  std::atomic<bool> go_on{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = static_cast<std::size_t>(t); go_on; ++i) change(tensors[i % 32].data);
    });
  }
  for (int i = 0; i < 50; ++i) {
    rearm();
    const int status = status_of_child([&] {
      child_after_fork();
      alarm(20);
      for (const Tensor& tensor : tensors) change(tensor.data);
      return 7;
    });
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    ASSERT_EQ(WEXITSTATUS(status), 7);
  }
  go_on = false;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GuardTest, AForkWhileAnotherThreadStartsAndStopsTheGuardLeavesTheChildNoShutPage) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 64; ++i) tensors.push_back(make(kPage));
  std::atomic<bool> go_on{true};
  std::thread iterations([&] {
    while (go_on) {
      if (!start(registry_, {}, [](TensorSlot, std::uint32_t, hearth_access) {})) continue;
      for (const Tensor& tensor : tensors) watch_it(tensor);
      stop();
    }
  });
  for (int i = 0; i < 200; ++i) {
    const int status = status_of_child([&] {
      child_after_fork();
      for (const Tensor& tensor : tensors) change(tensor.data);
      return 7;
    });
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " in child " << i;
  }
  go_on = false;
  iterations.join();
}

TEST_F(GuardTest, AnAlarmHandlerThatTouchesTensorsNeverWaitsForItsOwnThread) {
  static const volatile char* touched;
  const Tensor tensor = make(kPage);
  touched = tensor.data;
  struct sigaction tick {};
  tick.sa_handler = [](int) { touch(touched); };
  sigaction(SIGALRM, &tick, nullptr);
  ASSERT_TRUE(start(registry_, {}, [](TensorSlot, std::uint32_t, hearth_access) {}));
  ASSERT_TRUE(watch_it(tensor));
  const itimerval often{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 5000; ++i) {
    change(tensor.data);
    rearm();
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  signal(SIGALRM, SIG_DFL);
  EXPECT_GE(stats().faults, 5000u);
}

}  // namespace
}  // namespace hearth::access
