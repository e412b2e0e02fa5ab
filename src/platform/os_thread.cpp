#include "platform/os_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/errno_kept.h"
#include "platform/os_memory.h"

namespace hearth::os {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kStack = std::size_t{256} << 10;

// What the new thread needs; never given back, like every table of Hearth's.
struct Start {
  void (*run)(void*);
  void* argument;
  char name[16];
  CpuMask cpus;
  bool pinned;
};

timespec spec(std::uint64_t ns) { return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)}; }

void* begin(void* memory) {
  const auto* start = static_cast<const Start*>(memory);
  ::prctl(PR_SET_NAME, start->name, 0, 0, 0);
  if (start->pinned) ::syscall(SYS_sched_setaffinity, 0, sizeof start->cpus.words, start->cpus.words);
  start->run(start->argument);
  return nullptr;
}

}  // namespace

int start_thread(void (*run)(void*), void* argument, const char* name, const CpuMask* cpus) {
  ErrnoKept kept;
  auto* start = static_cast<Start*>(map_zeroed(sizeof(Start)));
  if (start == nullptr) return ENOMEM;
  start->run = run;
  start->argument = argument;
  std::strncpy(start->name, name, sizeof start->name - 1);
  start->pinned = cpus != nullptr;
  if (cpus != nullptr) start->cpus = *cpus;

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStack);
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  // Inherited by the new thread: there is no moment at which a signal could reach it.
  pthread_sigmask(SIG_SETMASK, &all, &former);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, begin, start);
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t timeout_ns) {
  ErrnoKept kept;
  const timespec limit = spec(timeout_ns);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout_ns != 0 ? &limit : nullptr, nullptr, 0);
}

void wake_all(const std::atomic<std::uint32_t>& word) {
  ErrnoKept kept;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void sleep_until(std::uint64_t monotonic_ns) {
  const timespec until = spec(monotonic_ns);
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace hearth::os
