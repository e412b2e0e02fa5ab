// The interposed signal functions: while a signal is really ours (SIGSEGV from the profiled iteration on, SIGTERM and
// SIGUSR2 as long as the program leaves them at the default), the program works on a record of what it believes to have
// installed. All other signals, and these at other times, pass through unchanged.
//
// While pages are guarded SIGSEGV also cannot be blocked, since a fault with SIGSEGV blocked ends the process; a mask
// queried meanwhile shows it open.
#include <errno.h>

#include "access/dispositions.h"
#include "access/guard.h"
#include "preload/real.h"

namespace dispositions = hearth::access::dispositions;
namespace real = hearth::real;

#define HEARTH_EXPORTED __attribute__((visibility("default"), used))
#define HEARTH_DECLARE_HOOK(result, name, parameters, arguments) \
  extern "C" HEARTH_EXPORTED result hearth_hook_##name parameters __asm__(#name);
HEARTH_SIGNAL_HOOKS(HEARTH_DECLARE_HOOK)

namespace {

bool ours(int signo) { return signo > 0 && signo < NSIG && dispositions::taken(signo); }

int change(int signo, const struct sigaction* action, struct sigaction* old) {
  const int error = dispositions::change(signo, action, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

__sighandler_t change(int signo, __sighandler_t handler, int flags) {
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, signo);  // as libc's signal() does
  return change(signo, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

constexpr int kBsdFlags = SA_RESTART;
constexpr int kSystemVFlags = static_cast<int>(SA_RESETHAND | SA_NODEFER);

// The set without SIGSEGV, if it would block that while the guard needs it.
const sigset_t* open_for_faults(int how, const sigset_t* set, sigset_t* copy) {
  if (set == nullptr || how == SIG_UNBLOCK || !hearth::access::active()) return set;
  *copy = *set;
  sigdelset(copy, SIGSEGV);
  return copy;
}

}  // namespace

int hearth_hook_sigaction(int signo, const struct sigaction* action, struct sigaction* old) {
  return ours(signo) ? change(signo, action, old) : real::sigaction(signo, action, old);
}

int hearth_hook___sigaction(int signo, const struct sigaction* action, struct sigaction* old) {
  return ours(signo) ? change(signo, action, old) : real::__sigaction(signo, action, old);
}

__sighandler_t hearth_hook_signal(int signo, __sighandler_t handler) {
  return ours(signo) ? change(signo, handler, kBsdFlags) : real::signal(signo, handler);
}

__sighandler_t hearth_hook_bsd_signal(int signo, __sighandler_t handler) {
  return ours(signo) ? change(signo, handler, kBsdFlags) : real::bsd_signal(signo, handler);
}

__sighandler_t hearth_hook_ssignal(int signo, __sighandler_t handler) {
  return ours(signo) ? change(signo, handler, kBsdFlags) : real::ssignal(signo, handler);
}

__sighandler_t hearth_hook_sysv_signal(int signo, __sighandler_t handler) {
  return ours(signo) ? change(signo, handler, kSystemVFlags) : real::sysv_signal(signo, handler);
}

__sighandler_t hearth_hook___sysv_signal(int signo, __sighandler_t handler) {
  return ours(signo) ? change(signo, handler, kSystemVFlags) : real::__sysv_signal(signo, handler);
}

int hearth_hook_sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t copy;
  return real::sigprocmask(how, open_for_faults(how, set, &copy), old);
}

int hearth_hook_pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t copy;
  return real::pthread_sigmask(how, open_for_faults(how, set, &copy), old);
}
