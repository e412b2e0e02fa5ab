// The originals behind the interposed functions: real::read(...) is what the program would have called without us.
//
// Looked up with dlsym(RTLD_NEXT) at the first call of each, or all at once by resolve_all(), and kept in a table of
// atomics: a race looks up twice and stores the same. RTLD_NEXT finds the next library in the search order, so other
// preloads (jemalloc, libfaketime, sanitizers) keep their turn. A function that this libc lacks fails with ENOSYS.
//
// Thread-safety: any thread. dlsym takes the loader's lock, so that signal handlers and forked children should meet
// functions resolved already: call resolve_all() once, early. Needs no constructor of ours to have run.
#pragma once

#include <stddef.h>

#include "preload/hooked_symbols.h"

namespace hearth::real {

#define HEARTH_DECLARE_REAL(result, name, parameters, ...) result name parameters;
HEARTH_IO_HOOKS(HEARTH_DECLARE_REAL)
HEARTH_MAPPING_HOOKS(HEARTH_DECLARE_REAL)
HEARTH_SIGNAL_HOOKS(HEARTH_DECLARE_REAL)
HEARTH_OTHER_HOOKS(HEARTH_DECLARE_REAL)
HEARTH_PLAIN_ORIGINALS(HEARTH_DECLARE_REAL)
#undef HEARTH_DECLARE_REAL

void resolve_all();

}  // namespace hearth::real
