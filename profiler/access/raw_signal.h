// Signals by system call: dispositions and masks as the kernel knows them, past every interposed function.
// Thread-safety: any thread, async-signal-safe; errno is left alone.
#pragma once

#include <signal.h>

#include <cstdint>

#include "access/raw_syscall.h"

namespace hearth::access {

// struct sigaction of the kernel (x86-64 and aarch64 agree).
struct KernelAction {
  std::uintptr_t handler = 0;
  std::uint64_t flags = 0;
  std::uintptr_t restorer = 0;
  std::uint64_t mask = 0;
};

constexpr std::uint64_t signal_bit(int signo) { return std::uint64_t{1} << (static_cast<unsigned>(signo) - 1); }

// The synchronous ones stay open everywhere: blocked, a fault would end the process without a word.
constexpr std::uint64_t kAllButFaults =
    ~(signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) | signal_bit(SIGFPE) | signal_bit(SIGTRAP));

// 0 or -errno. `action` gets the trampoline that the architecture needs.
long raw_sigaction(int signo, const KernelAction* action, KernelAction* old);
inline long raw_sigmask(int how, const std::uint64_t* set, std::uint64_t* old) {
  return raw(SYS_rt_sigprocmask, how, set, old, sizeof(std::uint64_t));
}

// All asynchronous signals blocked on this thread for a scope: a handler of the program that touched a page which this
// very thread is changing would wait for itself.
class SignalsBlocked {
 public:
  SignalsBlocked() { raw_sigmask(SIG_BLOCK, &kAllButFaults, &before_); }
  ~SignalsBlocked() { raw_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace hearth::access
