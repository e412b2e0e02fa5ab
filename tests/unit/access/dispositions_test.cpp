// A signal that is ours while the program believes it has it.
#include "access/dispositions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "access/raw_signal.h"

namespace hearth::access::dispositions {
namespace {

std::atomic<int> g_ours{0};
std::atomic<int> g_theirs{0};

void our_handler(int, siginfo_t*, void*) { ++g_ours; }
void chaining_handler(int signo, siginfo_t* info, void* context) {
  ++g_ours;
  pass_on(signo, info, context);
}
void their_handler(int) { ++g_theirs; }
void their_full_handler(int, siginfo_t* info, void*) { g_theirs = info->si_value.sival_int; }

class Dispositions : public ::testing::Test {
 protected:
  void SetUp() override { g_ours = g_theirs = 0; }
  void TearDown() override {
    give_back(SIGUSR1);
    install(SIG_DFL);
  }
  // By system call: sanitizers put handlers of their own in the place of what goes through libc.
  static void install(void (*handler)(int)) {
    const KernelAction action{reinterpret_cast<std::uintptr_t>(handler), 0, 0, 0};
    raw_sigaction(SIGUSR1, &action, nullptr);
  }
  static KernelAction installed() {
    KernelAction action;
    raw_sigaction(SIGUSR1, nullptr, &action);
    return action;
  }
  static struct sigaction action(void (*handler)(int), int flags = 0) {
    struct sigaction made {};
    made.sa_handler = handler;
    made.sa_flags = flags;
    return made;
  }
};

TEST_F(Dispositions, YieldTakesOnlyADefaultDisposition) {
  install(their_handler);
  EXPECT_FALSE(take(SIGUSR1, our_handler, 0, Policy::yield));
  install(SIG_IGN);
  EXPECT_FALSE(take(SIGUSR1, our_handler, 0, Policy::yield));
  install(SIG_DFL);
  EXPECT_TRUE(take(SIGUSR1, our_handler, 0, Policy::yield));
  EXPECT_FALSE(take(SIGUSR1, our_handler, 0, Policy::yield)) << "taken already";
  raise(SIGUSR1);
  EXPECT_EQ(g_ours, 1);
}

TEST_F(Dispositions, YieldIsInvisibleAndGivesWay) {
  ASSERT_TRUE(take(SIGUSR1, our_handler, 0, Policy::yield));
  struct sigaction old {};
  ASSERT_EQ(change(SIGUSR1, nullptr, &old), 0);
  EXPECT_EQ(old.sa_handler, SIG_DFL);
  struct sigaction wanted = action(SIG_DFL);
  ASSERT_EQ(change(SIGUSR1, &wanted, &old), 0);
  EXPECT_TRUE(taken(SIGUSR1)) << "the default is what the program has anyway";

  wanted = action(their_handler);
  ASSERT_EQ(change(SIGUSR1, &wanted, &old), 0);
  EXPECT_EQ(old.sa_handler, SIG_DFL);
  EXPECT_FALSE(taken(SIGUSR1));
  raise(SIGUSR1);
  EXPECT_EQ(g_theirs, 1);
  EXPECT_EQ(g_ours, 0);
}

TEST_F(Dispositions, RecordKeepsOursAndShowsTheProgramItsOwn) {
  install(their_handler);
  ASSERT_TRUE(take(SIGUSR1, our_handler, 0, Policy::record));
  struct sigaction old {};
  struct sigaction wanted = action(nullptr, SA_SIGINFO | SA_RESTART);
  wanted.sa_sigaction = their_full_handler;
  sigaddset(&wanted.sa_mask, SIGHUP);
  ASSERT_EQ(change(SIGUSR1, &wanted, &old), 0);
  EXPECT_EQ(old.sa_handler, their_handler);
  ASSERT_EQ(change(SIGUSR1, nullptr, &old), 0);
  EXPECT_EQ(old.sa_sigaction, their_full_handler);
  EXPECT_TRUE(old.sa_flags & SA_RESTART);
  EXPECT_TRUE(sigismember(&old.sa_mask, SIGHUP));
  raise(SIGUSR1);
  EXPECT_EQ(g_ours, 1);
  EXPECT_EQ(g_theirs, 0);

  give_back(SIGUSR1);
  EXPECT_EQ(installed().handler, reinterpret_cast<std::uintptr_t>(their_full_handler));
  EXPECT_EQ(installed().mask, signal_bit(SIGHUP));
}

TEST_F(Dispositions, PassOnCallsUnderTheMaskTheKernelWouldHaveSet) {
  static sigset_t inside;
  ASSERT_TRUE(take(SIGUSR1, chaining_handler, 0, Policy::record));
  struct sigaction wanted = action([](int) { pthread_sigmask(SIG_BLOCK, nullptr, &inside); });
  sigaddset(&wanted.sa_mask, SIGHUP);
  ASSERT_EQ(change(SIGUSR1, &wanted, nullptr), 0);
  raise(SIGUSR1);
  EXPECT_TRUE(sigismember(&inside, SIGUSR1));
  EXPECT_TRUE(sigismember(&inside, SIGHUP));
  EXPECT_FALSE(sigismember(&inside, SIGTERM)) << "our handler's own mask does not leak into the program's";

  wanted.sa_flags = static_cast<int>(SA_NODEFER | SA_RESETHAND);
  ASSERT_EQ(change(SIGUSR1, &wanted, nullptr), 0);
  raise(SIGUSR1);
  EXPECT_FALSE(sigismember(&inside, SIGUSR1));
  EXPECT_EQ(program_view(SIGUSR1).handler, reinterpret_cast<std::uintptr_t>(SIG_DFL));
  sigset_t after;
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_FALSE(sigismember(&after, SIGHUP)) << "the mask is the interrupted one again";
}

TEST_F(Dispositions, GiveBackLeavesAThiefAlone) {
  ASSERT_TRUE(take(SIGUSR1, our_handler, 0, Policy::record));
  install(their_handler);
  EXPECT_FALSE(still_ours(SIGUSR1));
  give_back(SIGUSR1);
  EXPECT_FALSE(taken(SIGUSR1));
  raise(SIGUSR1);
  EXPECT_EQ(g_theirs, 1);
}

TEST_F(Dispositions, ImpossibleSignalsAreRefused) {
  for (const int signo : {0, -1, 65, SIGKILL, SIGSTOP}) {
    EXPECT_FALSE(take(signo, our_handler, 0, Policy::record)) << signo;
    EXPECT_EQ(change(signo, nullptr, nullptr), EINVAL) << signo;
  }
}

TEST_F(Dispositions, AHandlerNeverSeesHalfOfAChange) {
  ASSERT_TRUE(take(SIGUSR1, chaining_handler, 0, Policy::record));
  struct sigaction plain = action(their_handler);
  struct sigaction full = action(nullptr, SA_SIGINFO);
  full.sa_sigaction = [](int, siginfo_t* info, void*) { g_theirs += info->si_signo == SIGUSR1 ? 1 : 1'000'000; };
  ASSERT_EQ(change(SIGUSR1, &plain, nullptr), 0);
  std::atomic<bool> go_on{true};
  std::thread changer([&] {
    for (int i = 0; go_on; ++i) change(SIGUSR1, i % 2 ? &plain : &full, nullptr);
  });
  for (int i = 0; i < 20000; ++i) raise(SIGUSR1);  // a full handler called as a plain one would crash or count wrongly
  go_on = false;
  changer.join();
  EXPECT_EQ(g_theirs, 20000);
}

}  // namespace
}  // namespace hearth::access::dispositions
