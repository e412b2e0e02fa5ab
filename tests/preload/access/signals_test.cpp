// Handlers that programs install while the guard runs, masks they set, and the signals that Hearth owns.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <functional>
#include <thread>
#include <vector>

#include "probe.h"

extern "C" __sighandler_t old_bsd_signal(int, __sighandler_t) __asm__("bsd_signal");
extern "C" __sighandler_t old_sysv_signal(int, __sighandler_t) __asm__("__sysv_signal");
extern "C" __sighandler_t one_shot(int, __sighandler_t) __asm__("sysv_signal");

namespace {

constexpr size_t kPage = 4096;

int status_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// What the kernel has, past every hook.
uintptr_t real_handler(int signo) {
  struct {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
  } action{};
  syscall(SYS_rt_sigaction, signo, nullptr, &action, sizeof(uint64_t));
  return action.handler;
}

void touch(const volatile char* byte) { static_cast<void>(*byte); }
void leave_with_5(int) { _exit(5); }

class Signals : public ::testing::Test {
 protected:
  void SetUp() override {
    tensor_ = probe_tensor(2 * kPage);
    ASSERT_TRUE(probe_start(0));
    ASSERT_EQ(probe_watch(tensor_), 1);
  }
  void TearDown() override {
    probe_stop();
    signal(SIGSEGV, SIG_DFL);
  }
  char* tensor_ = nullptr;
};

TEST_F(Signals, AHandlerInstalledInMidProfileIsOnlyRecorded) {
  struct sigaction theirs {};
  struct sigaction seen {};
  theirs.sa_handler = leave_with_5;
  theirs.sa_flags = SA_NODEFER;
  ASSERT_EQ(sigaction(SIGSEGV, &theirs, &seen), 0);
  EXPECT_EQ(seen.sa_handler, SIG_DFL) << "the program does not see ours";
  EXPECT_NE(real_handler(SIGSEGV), reinterpret_cast<uintptr_t>(leave_with_5));
  ASSERT_EQ(sigaction(SIGSEGV, nullptr, &seen), 0);
  EXPECT_EQ(seen.sa_handler, leave_with_5);
  touch(tensor_);
  EXPECT_EQ(probe_faults(), 1u);
  EXPECT_EQ(WEXITSTATUS(status_of_child([] {
              touch(nullptr);
              return 0;
            })),
            5);
  probe_stop();
  EXPECT_EQ(WEXITSTATUS(status_of_child([] {
              touch(nullptr);
              return 0;
            })),
            5)
      << "after the run too";
}

TEST_F(Signals, EveryWayToInstallAHandlerIsRecorded) {
  using Install = __sighandler_t (*)(int, __sighandler_t);
  for (const Install install : {Install{signal}, Install{ssignal}, Install{old_bsd_signal}, Install{old_sysv_signal}}) {
    EXPECT_EQ(install(SIGSEGV, leave_with_5), SIG_DFL);
    EXPECT_NE(real_handler(SIGSEGV), reinterpret_cast<uintptr_t>(leave_with_5));
    EXPECT_EQ(signal(SIGSEGV, SIG_DFL), leave_with_5);
  }
  touch(tensor_);
  EXPECT_EQ(probe_faults(), 1u);
}

TEST_F(Signals, OneShotHandlersFireOnce) {
  static volatile sig_atomic_t calls;
  one_shot(SIGSEGV, [](int) { calls = calls + 1; });
  raise(SIGSEGV);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(WTERMSIG(status_of_child([] { return raise(SIGSEGV); })), SIGSEGV);
}

// What faulthandler does: on a crash, put the former handler back, print, raise again.
TEST_F(Signals, AHandlerThatRestoresTheFormerOneAndRaisesEndsTheProcess) {
  static struct sigaction former;
  const int status = status_of_child([&] {
    struct sigaction theirs {};
    theirs.sa_handler = [](int) {
      sigaction(SIGSEGV, &former, nullptr);
      static_cast<void>(!write(1, "", 0));
      raise(SIGSEGV);
    };
    theirs.sa_flags = SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &theirs, &former);
    touch(tensor_);
    if (probe_faults() != 1) return 1;
    touch(nullptr);
    return 2;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST_F(Signals, SigsegvCannotBeBlockedWhilePagesAreGuarded) {
  std::thread([&] {
    sigset_t all;
    sigset_t seen;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    pthread_sigmask(SIG_BLOCK, nullptr, &seen);
    EXPECT_FALSE(sigismember(&seen, SIGSEGV));
    EXPECT_TRUE(sigismember(&seen, SIGTERM));
    touch(tensor_);  // blocked, this would end the process
    probe_rearm();
    sigprocmask(SIG_BLOCK, &all, nullptr);
    tensor_[0] = 1;
  }).join();
  EXPECT_EQ(probe_faults(), 2u);
}

TEST_F(Signals, OutsideARunMasksAreTheProgramsBusiness) {
  probe_stop();
  std::thread([] {
    sigset_t all;
    sigset_t seen;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    pthread_sigmask(SIG_BLOCK, nullptr, &seen);
    EXPECT_TRUE(sigismember(&seen, SIGSEGV));
  }).join();
}

TEST_F(Signals, OtherSignalsPassThrough) {
  struct sigaction theirs {};
  theirs.sa_handler = leave_with_5;
  ASSERT_EQ(sigaction(SIGUSR1, &theirs, nullptr), 0);
  EXPECT_EQ(real_handler(SIGUSR1), reinterpret_cast<uintptr_t>(leave_with_5));
  signal(SIGUSR1, SIG_DFL);
  EXPECT_EQ(sigaction(SIGKILL, &theirs, nullptr), -1);
  EXPECT_EQ(sigaction(4711, &theirs, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Signals, ARawTheftEndsTheRun) {
  struct {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
  } theft{reinterpret_cast<uintptr_t>(leave_with_5), 0, 0, 0};
  touch(tensor_);
  ASSERT_EQ(syscall(SYS_rt_sigaction, SIGSEGV, &theft, nullptr, sizeof(uint64_t)), 0);
  probe_rearm();
  EXPECT_TRUE(probe_stolen());
  EXPECT_FALSE(probe_active());
  touch(tensor_);
  EXPECT_EQ(real_handler(SIGSEGV), theft.handler);
}

TEST_F(Signals, AForkedChildHasTheProgramsHandlerAndReadsEverything) {
  signal(SIGSEGV, leave_with_5);
  EXPECT_EQ(WEXITSTATUS(status_of_child([&] {
              probe_child();
              touch(tensor_);
              if (real_handler(SIGSEGV) != reinterpret_cast<uintptr_t>(leave_with_5)) return 1;
              touch(nullptr);
              return 2;
            })),
            5);
}

volatile sig_atomic_t g_reports;
void report_and_go_on(int) { g_reports = g_reports + 1; }
void report_and_die(int signo) {
  g_reports = g_reports + 1;
  probe_die_of(signo);
}

TEST(OwnedSignals, ReportsOnRequestAndIsInvisible) {
  g_reports = 0;
  ASSERT_TRUE(probe_own_signal(SIGUSR2, report_and_go_on));
  struct sigaction seen {};
  sigaction(SIGUSR2, nullptr, &seen);
  EXPECT_EQ(seen.sa_handler, SIG_DFL);
  raise(SIGUSR2);
  EXPECT_EQ(g_reports, 1);
  EXPECT_EQ(signal(SIGUSR2, leave_with_5), SIG_DFL) << "the program's own handler takes over";
  EXPECT_EQ(real_handler(SIGUSR2), reinterpret_cast<uintptr_t>(leave_with_5));
  EXPECT_FALSE(probe_own_signal(SIGUSR2, report_and_go_on)) << "and keeps it";
  signal(SIGUSR2, SIG_DFL);
}

TEST(OwnedSignals, SettingTheDefaultKeepsOursIgnoringEndsIt) {
  ASSERT_TRUE(probe_own_signal(SIGUSR2, report_and_go_on));
  signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(real_handler(SIGUSR2), reinterpret_cast<uintptr_t>(report_and_go_on));
  signal(SIGUSR2, SIG_IGN);
  EXPECT_EQ(real_handler(SIGUSR2), reinterpret_cast<uintptr_t>(SIG_IGN));
  signal(SIGUSR2, SIG_DFL);
}

TEST(OwnedSignals, TermStillKillsWithTerm) {
  const int status = status_of_child([] {
    if (!probe_own_signal(SIGTERM, report_and_die)) return 1;
    kill(getpid(), SIGTERM);
    sleep(5);
    return 2;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(OwnedSignals, DisownedInAChild) {
  ASSERT_TRUE(probe_own_signal(SIGTERM, report_and_die));
  EXPECT_EQ(WEXITSTATUS(status_of_child([] {
              probe_disown_signal(SIGTERM);
              return real_handler(SIGTERM) == 0 ? 7 : 1;
            })),
            7);
  probe_disown_signal(SIGTERM);
  EXPECT_EQ(real_handler(SIGTERM), 0u);
}

}  // namespace
