// Leaving the process: exit() through our fini, os._exit() through the interposed _exit.
#include <unistd.h>

#include "preload/real.h"
#include "runtime/runtime.h"

namespace {

__attribute__((destructor)) void at_exit() { hearth::runtime::finish(); }

}  // namespace

extern "C" {

__attribute__((visibility("default"), noreturn)) void _exit(int status) {
  hearth::runtime::finish();
  hearth::real::_exit(status);
  __builtin_unreachable();
}

__attribute__((visibility("default"), noreturn)) void _Exit(int status) { _exit(status); }
}
