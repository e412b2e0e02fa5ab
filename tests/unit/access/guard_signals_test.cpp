// Faults that are not ours, handlers that others install, and threads that would die of a fault.
#include <pthread.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <thread>
#include <vector>

#include "access/raw_signal.h"
#include "access/signal_stack.h"
#include "unit/access/guard_fixture.h"

namespace hearth::access {
namespace {

char* forbidden_page() {
  return static_cast<char*>(mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

sigjmp_buf g_back;
volatile sig_atomic_t g_signal_code;
void* volatile g_fault_address;

void jump_out(int, siginfo_t* info, void*) {
  g_signal_code = info->si_code;
  g_fault_address = info->si_addr;
  siglongjmp(g_back, 1);
}

TEST_F(GuardTest, AForeignFaultReachesTheProgramsHandlerWhichMayJumpOut) {
  struct sigaction mine {};
  mine.sa_sigaction = jump_out;
  mine.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &mine, nullptr);
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  char* page = forbidden_page();
  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(g_back, 1) == 0) {
      touch(page + 8);
      FAIL() << "the fault was swallowed";
    }
    EXPECT_EQ(g_fault_address, page + 8);
    EXPECT_EQ(g_signal_code, SEGV_ACCERR);
  }
  touch(tensor.data);
  EXPECT_EQ(stats().faults, 1u);
  EXPECT_EQ(stats().foreign, 3u);
  stop();
  signal(SIGSEGV, SIG_DFL);
}

TEST_F(GuardTest, WithoutAHandlerARealCrashStillDiesOfSigsegv) {
  const Tensor tensor = make(kPage);
  const auto crash = [&](auto how) {
    return status_of_child([&] {
      if (!start(registry_, {}, remember) || !watch_it(tensor)) return 1;
      how();
      return 0;
    });
  };
  EXPECT_EQ(WTERMSIG(crash([] { touch(nullptr); })), SIGSEGV);           // SEGV_MAPERR
  EXPECT_EQ(WTERMSIG(crash([] { touch(forbidden_page()); })), SIGSEGV);  // SEGV_ACCERR elsewhere
  EXPECT_EQ(WTERMSIG(crash([] { raise(SIGSEGV); })), SIGSEGV);           // sent: returning would not repeat it
  EXPECT_EQ(WTERMSIG(crash([] { kill(getpid(), SIGSEGV); })), SIGSEGV);
  EXPECT_EQ(WTERMSIG(crash([&] { reinterpret_cast<void (*)()>(tensor.data)(); })), SIGSEGV);  // executing a tensor
}

TEST_F(GuardTest, AnIgnoredSigsegvIsIgnoredWhenSentAndFatalWhenReal) {
  const int status = status_of_child([&] {
    signal(SIGSEGV, SIG_IGN);
    if (!start(registry_, {}, remember)) return 1;
    raise(SIGSEGV);
    touch(nullptr);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST_F(GuardTest, APageThatTheProgramItselfShutsIsTheProgramsFault) {
  const Tensor tensor = make(kPage);
  const int status = status_of_child([&] {
    if (!start(registry_, {}, remember) || !watch_it(tensor)) return 1;
    change(tensor.data);
    mprotect(tensor.data, kPage, PROT_READ);  // not interposed in this program: as if by a raw system call
    change(tensor.data);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));  // and above all: no endless loop
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

void thief(int) { _exit(3); }

TEST_F(GuardTest, AStolenHandlerEndsTheRunWithEverythingOpen) {
  const Tensor tensor = make(kPage);
  const Tensor other = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor) && watch_it(other));
  touch(tensor.data);
  const KernelAction action{reinterpret_cast<std::uintptr_t>(thief), 0, 0, 0};
  ASSERT_EQ(raw_sigaction(SIGSEGV, &action, nullptr), 0);
  rearm();
  EXPECT_FALSE(active());
  EXPECT_TRUE(stats().handler_stolen);
  change(tensor.data);
  change(other.data);
  KernelAction now;
  raw_sigaction(SIGSEGV, nullptr, &now);
  EXPECT_EQ(now.handler, action.handler) << "the thief keeps what it took";
  signal(SIGSEGV, SIG_DFL);
}

TEST_F(GuardTest, ATheftIsNoticedEvenWhenNothingIsTouched) {
  ASSERT_TRUE(start(registry_, {}, remember));
  const KernelAction action{reinterpret_cast<std::uintptr_t>(thief), 0, 0, 0};
  raw_sigaction(SIGSEGV, &action, nullptr);
  for (int i = 0; i < 64; ++i) rearm();
  EXPECT_TRUE(stats().handler_stolen);
  signal(SIGSEGV, SIG_DFL);
}

TEST_F(GuardTest, StopNoticesATheftToo) {
  ASSERT_TRUE(start(registry_, {}, remember));
  const KernelAction action{reinterpret_cast<std::uintptr_t>(thief), 0, 0, 0};
  raw_sigaction(SIGSEGV, &action, nullptr);
  stop();
  EXPECT_TRUE(stats().handler_stolen);
  signal(SIGSEGV, SIG_DFL);
}

TEST_F(GuardTest, RefusesToStartWhileAThreadBlocksSigsegv) {
  std::atomic<int> stage{0};
  std::thread deaf([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    stage = 1;
    while (stage == 1) usleep(100);
  });
  while (stage == 0) usleep(100);
  EXPECT_FALSE(start(registry_, {}, remember));
  EXPECT_NE(std::string(refusal()).find("blocks SIGSEGV"), std::string::npos);
  pthread_setname_np(deaf.native_handle(), "jemalloc_bg_thd");
  EXPECT_TRUE(start(registry_, {}, remember)) << "this one purges and never touches tensors";
  stop();
  stage = 2;
  deaf.join();
  EXPECT_TRUE(start(registry_, {}, remember));
  EXPECT_STREQ(refusal(), "");
}

TEST_F(GuardTest, HandlersWithAndWithoutAnAlternateStackServeFaults) {
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  std::thread([&] { touch(tensor.data); }).join();
  rearm();
  std::thread([&] {
    static char stack[64 * 1024];
    const stack_t alternate{stack, 0, sizeof stack};
    stack_t former{};
    sigaltstack(&alternate, &former);
    change(tensor.data);
    sigaltstack(&former, nullptr);  // AddressSanitizer takes its own back when the thread ends
  }).join();
  EXPECT_EQ(stats().faults, 2u);
}

#ifdef __x86_64__
// oneDNN's matrix kernels compute with the stack pointer in a workspace on the heap. What lies below is somebody
// else's.
void touch_with_stack_at(char* stack, const char* byte) {
  __asm__ volatile(
      "mov %%rsp, %%r12\n\t"
      "mov %0, %%rsp\n\t"
      "movb (%1), %%al\n\t"
      "mov %%r12, %%rsp"
      :
      : "r"(stack), "r"(byte)
      : "rax", "r12", "memory");
}

TEST_F(GuardTest, AFaultWritesNothingBelowAStackPointerOnTheHeap) {
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  std::vector<char> heap(1 << 17, 'x');
  const auto touch_it = [&] { touch_with_stack_at(heap.data() + heap.size() / 2, tensor.data); };
  touch_it();  // by the thread that started the guard,
  rearm();
  static const auto run = [](void* action) -> void* { return (*static_cast<decltype(touch_it)*>(action))(), nullptr; };
  pthread_t thread;
  auto action = touch_it;
  ASSERT_EQ(create_with_signal_stack(pthread_create, &thread, nullptr, run, &action), 0);  // and by others
  pthread_join(thread, nullptr);
  EXPECT_EQ(stats().faults, 2u);
  EXPECT_EQ(std::count(heap.begin(), heap.end(), 'x'), std::ssize(heap));
}
#endif

TEST(SignalStack, OfAThreadGoesWithIt) {
  const auto mapped = [](const void* address) {
    unsigned char resident = 0;
    return mincore(const_cast<void*>(address), 1, &resident) == 0;
  };
  static stack_t seen;
  static const auto look = [](void*) -> void* { return sigaltstack(nullptr, &seen), nullptr; };
  pthread_t thread;
  ASSERT_EQ(create_with_signal_stack(pthread_create, &thread, nullptr, look, nullptr), 0);
  pthread_join(thread, nullptr);
  EXPECT_EQ(seen.ss_flags & SS_DISABLE, 0);
  EXPECT_GE(seen.ss_size, std::size_t{128} << 10);
  EXPECT_FALSE(mapped(seen.ss_sp));
}

TEST_F(GuardTest, ErrnoSurvivesAFault) {
  const Tensor tensor = make(kPage);
  ASSERT_TRUE(start(registry_, {}, remember));
  ASSERT_TRUE(watch_it(tensor));
  errno = 4711;
  touch(tensor.data);
  EXPECT_EQ(errno, 4711);
  rearm();
  EXPECT_EQ(errno, 4711);
  errno = 0;
}

}  // namespace
}  // namespace hearth::access
