// Dispositions: signals whose handler is really ours while the program believes that it has them.
//
// take() installs our handler and records what the program had. The interposed sigaction and signal ask taken() and go
// through change(), which works on the record: the program's queries see what it set, never us. Two policies:
//   record  SIGSEGV from the first profiled iteration on: a new handler of the program is only recorded; our handler
//   passes on
//           what is not ours with pass_on().
//   yield   signals that we use only as long as the program does not (HEARTH reports on SIGTERM, SIGUSR2): a handler
//           of the program really replaces ours, in silence.
//
// Thread-safety: any thread; program_view() and pass_on() also in signal handlers. Writers of one signal exclude each
// other by a flag held with all signals blocked, readers retry while the record changes. No malloc, no libc state.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

namespace hearth::access::dispositions {

// As the kernel keeps it; libc's larger sigset_t holds nothing more on Linux (64 signals).
struct Disposition {
  std::uintptr_t handler = 0;
  std::uint64_t flags = 0;
  std::uint64_t mask = 0;
};

using Handler = void (*)(int, siginfo_t*, void*);
enum class Policy : std::uint8_t { record, yield };

// False if it is taken already, the kernel refuses, or (yield) the program has a disposition other than the default.
bool take(int signo, Handler handler, std::uint64_t flags, Policy policy);
// Reinstalls what the program believes to have; if somebody else's handler is there by now, leaves that.
void give_back(int signo);
// Asks the kernel whether our handler is still installed.
bool still_ours(int signo);

namespace detail {
extern std::atomic<std::uint64_t> g_taken;
}
inline bool taken(int signo) {
  return (detail::g_taken.load(std::memory_order_acquire) >> (static_cast<unsigned>(signo) & 63u) & 1u) != 0;
}

Disposition program_view(int signo);
// sigaction(2) as the program sees it, for a taken signal. 0 or an errno value.
int change(int signo, const struct sigaction* action, struct sigaction* old);
// Gives a signal that arrived at our handler to the program: calls its handler under the signal mask the kernel would
// have set, or arranges that the default action strikes when our handler returns.
void pass_on(int signo, siginfo_t* info, void* context);
// Makes the default action strike: really installs it and sends the signal again; it hits once the caller returns.
void die_of(int signo);

}  // namespace hearth::access::dispositions
