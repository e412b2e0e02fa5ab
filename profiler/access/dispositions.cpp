#include "access/dispositions.h"

#include <ucontext.h>

#include <cerrno>
#include <cstring>

#include "access/raw_signal.h"
#include "access/spin.h"

namespace hearth::access::dispositions {

namespace detail {
constinit std::atomic<std::uint64_t> g_taken{0};
}

namespace {

// The program's disposition in four words under a sequence number, so that a handler on another thread never sees half
// of a change.
struct Record {
  std::atomic<bool> writing{false};
  std::atomic<std::uint32_t> sequence{0};
  std::atomic<std::uintptr_t> handler{0};
  std::atomic<std::uint64_t> flags{0};
  std::atomic<std::uint64_t> mask{0};
  std::uintptr_t ours = 0;
  Policy policy = Policy::record;
};

constinit Record g_records[65];

class Writer {
 public:
  explicit Writer(Record& record) : record_(record) {
    Spin spin;
    while (record_.writing.exchange(true, std::memory_order_acquire)) spin.wait();
  }
  ~Writer() { record_.writing.store(false, std::memory_order_release); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void store(const Disposition& disposition) {
    record_.sequence.fetch_add(1, std::memory_order_acq_rel);
    record_.handler.store(disposition.handler, std::memory_order_release);
    record_.flags.store(disposition.flags, std::memory_order_release);
    record_.mask.store(disposition.mask, std::memory_order_release);
    record_.sequence.fetch_add(1, std::memory_order_release);
  }

 private:
  SignalsBlocked blocked_;
  Record& record_;
};

Disposition load(const Record& record) {
  for (Spin spin;; spin.wait()) {
    const std::uint32_t before = record.sequence.load(std::memory_order_acquire);
    const Disposition seen{record.handler.load(std::memory_order_acquire), record.flags.load(std::memory_order_acquire),
                           record.mask.load(std::memory_order_acquire)};
    if ((before & 1u) == 0 && record.sequence.load(std::memory_order_acquire) == before) return seen;
  }
}

bool known(int signo) { return signo > 0 && signo < 65 && signo != SIGKILL && signo != SIGSTOP; }

std::uint64_t taken_bit(int signo) { return std::uint64_t{1} << (static_cast<unsigned>(signo) & 63u); }

Disposition from_program(const struct sigaction& action) {
  Disposition disposition;
  disposition.handler = reinterpret_cast<std::uintptr_t>(action.sa_sigaction);
  disposition.flags = static_cast<std::uint32_t>(action.sa_flags);
  std::memcpy(&disposition.mask, &action.sa_mask, sizeof disposition.mask);
  return disposition;
}

void to_program(const Disposition& disposition, struct sigaction* action) {
  std::memset(action, 0, sizeof *action);
  action->sa_sigaction = reinterpret_cast<Handler>(disposition.handler);
  action->sa_flags = static_cast<int>(disposition.flags);
  std::memcpy(&action->sa_mask, &disposition.mask, sizeof disposition.mask);
}

long install(int signo, const Disposition& disposition, KernelAction* old) {
  const KernelAction action{disposition.handler, disposition.flags, 0, disposition.mask};
  return raw_sigaction(signo, &action, old);
}

bool is(std::uintptr_t handler, __sighandler_t special) { return handler == reinterpret_cast<std::uintptr_t>(special); }

}  // namespace

bool take(int signo, Handler handler, std::uint64_t flags, Policy policy) {
  if (!known(signo)) return false;
  Record& record = g_records[signo];
  Writer writer(record);
  if (taken(signo)) return false;
  KernelAction old;
  if (policy == Policy::yield && (raw_sigaction(signo, nullptr, &old) != 0 || !is(old.handler, SIG_DFL))) return false;
  record.ours = reinterpret_cast<std::uintptr_t>(handler);
  record.policy = policy;
  if (raw_sigaction(signo, nullptr, &old) != 0) return false;
  // Recorded before ours can run: its first act may be to pass on.
  writer.store({old.handler, old.flags, old.mask});
  // A fault inside the fault handler must kill, not recurse; other handlers of ours may meet armed pages.
  const std::uint64_t mask = signo == SIGSEGV ? ~std::uint64_t{0} : kAllButFaults;
  if (install(signo, {record.ours, flags | SA_SIGINFO, mask}, &old) != 0) return false;
  detail::g_taken.fetch_or(taken_bit(signo), std::memory_order_acq_rel);
  return true;
}

void give_back(int signo) {
  if (!known(signo)) return;
  Record& record = g_records[signo];
  Writer writer(record);
  if (!taken(signo)) return;
  if (still_ours(signo)) install(signo, load(record), nullptr);
  detail::g_taken.fetch_and(~taken_bit(signo), std::memory_order_acq_rel);
}

bool still_ours(int signo) {
  KernelAction now;
  return raw_sigaction(signo, nullptr, &now) == 0 && now.handler == g_records[signo].ours;
}

Disposition program_view(int signo) { return load(g_records[signo]); }

int change(int signo, const struct sigaction* action, struct sigaction* old) {
  if (!known(signo)) return EINVAL;
  Record& record = g_records[signo];
  const Disposition wanted = action != nullptr ? from_program(*action) : Disposition{};
  Disposition before;
  int error = 0;
  {
    Writer writer(record);
    before = load(record);
    if (action != nullptr) {
      // A default disposition is what a yielding signal shows anyway; only a real handler (or ignoring) ends our use.
      const bool replaces_ours = !taken(signo) || (record.policy == Policy::yield && !is(wanted.handler, SIG_DFL));
      if (replaces_ours) {
        KernelAction displaced;
        error = static_cast<int>(-install(signo, wanted, &displaced));
        if (!taken(signo)) before = {displaced.handler, displaced.flags, displaced.mask};  // given back meanwhile
        if (error == 0) detail::g_taken.fetch_and(~taken_bit(signo), std::memory_order_acq_rel);
      }
      if (error == 0) writer.store(wanted);
    }
  }
  if (error == 0 && old != nullptr) to_program(before, old);
  return error;
}

void die_of(int signo) {
  install(signo, {}, nullptr);
  raw(SYS_tgkill, raw(SYS_getpid), raw(SYS_gettid), signo);
}

void pass_on(int signo, siginfo_t* info, void* context) {
  Record& record = g_records[signo];
  const Disposition disposition = load(record);
  const bool sent = info->si_code <= 0;  // by kill or raise: returning would not bring it again
  if (is(disposition.handler, SIG_IGN) && sent) return;
  if (is(disposition.handler, SIG_DFL) || is(disposition.handler, SIG_IGN)) {
    // The kernel does not let a program ignore a fault of its own either: it dies.
    if (sent) {
      die_of(signo);
    } else {
      install(signo, {}, nullptr);  // the instruction faults again: right signal, right address, right core
    }
    return;
  }
  if ((disposition.flags & SA_RESETHAND) != 0) {
    Writer writer(record);
    writer.store({});
  }
  std::uint64_t mask = disposition.mask | ((disposition.flags & SA_NODEFER) != 0 ? 0 : signal_bit(signo));
  std::uint64_t interrupted = 0;
  std::memcpy(&interrupted, &static_cast<ucontext_t*>(context)->uc_sigmask, sizeof interrupted);
  mask |= interrupted;
  raw_sigmask(SIG_SETMASK, &mask, nullptr);
  if ((disposition.flags & SA_SIGINFO) != 0) {
    reinterpret_cast<Handler>(disposition.handler)(signo, info, context);
  } else {
    reinterpret_cast<__sighandler_t>(disposition.handler)(signo);
  }
}

}  // namespace hearth::access::dispositions
