#include "preload/owned_signals.h"

#include "access/dispositions.h"

namespace hearth::preload {

namespace dispositions = access::dispositions;

bool own_signal(int signo, void (*handler)(int)) {
  // The kernel passes the same three arguments to both kinds of handler; one that takes the first only is fine.
  const auto full = reinterpret_cast<dispositions::Handler>(reinterpret_cast<void*>(handler));
  return dispositions::take(signo, full, SA_RESTART | SA_ONSTACK, dispositions::Policy::yield);
}

void disown_signal(int signo) { dispositions::give_back(signo); }

void die_of(int signo) { dispositions::die_of(signo); }

}  // namespace hearth::preload
