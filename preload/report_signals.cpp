// Reports on demand and before the end: SIGUSR2 writes one, SIGTERM writes one and then ends the process as it would
// have ended. Only where the program leaves these signals at their default; it can take them over at any time.
#include <csignal>

#include "preload/owned_signals.h"
#include "preload/real.h"
#include "runtime/facts.h"
#include "runtime/runtime.h"

namespace hearth::preload {
namespace {

void write_report(int) { runtime::write_report_from_signal(); }

void write_report_and_end(int signo) {
  runtime::write_report_from_signal();
  die_of(signo);
}

void install() {
  real::resolve_all();  // dlsym has no place in a signal handler
  if (!runtime::report_wanted()) return;
  own_signal(SIGUSR2, write_report);
  own_signal(SIGTERM, write_report_and_end);
}

}  // namespace
}  // namespace hearth::preload

namespace hearth::runtime {
constinit const Skin kSkin = {hearth::preload::install};
}
