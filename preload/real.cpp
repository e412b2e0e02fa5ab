#include "preload/real.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <type_traits>

namespace hearth::real {

namespace {

#define HEARTH_ALL_ORIGINALS(X) \
  HEARTH_IO_HOOKS(X)            \
  HEARTH_MAPPING_HOOKS(X)       \
  HEARTH_SIGNAL_HOOKS(X)        \
  HEARTH_OTHER_HOOKS(X)         \
  HEARTH_PLAIN_ORIGINALS(X)

enum class Symbol : unsigned {
#define HEARTH_ENUMERATE(result, name, ...) at_##name,
  HEARTH_ALL_ORIGINALS(HEARTH_ENUMERATE)
#undef HEARTH_ENUMERATE
      count
};

constexpr const char* kNames[] = {
#define HEARTH_NAME_OF(result, name, ...) #name,
    HEARTH_ALL_ORIGINALS(HEARTH_NAME_OF)
#undef HEARTH_NAME_OF
};

constinit std::atomic<void*> g_originals[static_cast<unsigned>(Symbol::count)];

[[gnu::cold, gnu::noinline]] void* resolve(unsigned symbol) {
  void* original = ::dlsym(RTLD_NEXT, kNames[symbol]);
  g_originals[symbol].store(original, std::memory_order_release);
  return original;
}

template <class Function>
Function* original(Symbol symbol) {
  void* known = g_originals[static_cast<unsigned>(symbol)].load(std::memory_order_acquire);
  if (known == nullptr) [[unlikely]] {
    known = resolve(static_cast<unsigned>(symbol));
  }
  return reinterpret_cast<Function*>(known);
}

// What a function reports that this libc does not have: -1, null or nothing done, and ENOSYS.
template <class Result>
Result absent() {
  errno = ENOSYS;
  if constexpr (std::is_same_v<Result, __sighandler_t>) {
    return SIG_ERR;
  } else if constexpr (std::is_pointer_v<Result>) {
    return reinterpret_cast<Result>(-1);  // MAP_FAILED
  } else if constexpr (std::is_unsigned_v<Result>) {
    return 0;
  } else if constexpr (!std::is_void_v<Result>) {
    return Result{-1};
  }
}

}  // namespace

#define HEARTH_DEFINE_REAL(result, name, parameters, arguments, ...)    \
  result name parameters {                                              \
    auto* function = original<result parameters>(Symbol::at_##name);    \
    return function != nullptr ? function arguments : absent<result>(); \
  }
HEARTH_ALL_ORIGINALS(HEARTH_DEFINE_REAL)
#undef HEARTH_DEFINE_REAL

void resolve_all() {
  for (unsigned i = 0; i < static_cast<unsigned>(Symbol::count); ++i) {
    if (g_originals[i].load(std::memory_order_relaxed) == nullptr) resolve(i);
  }
}

}  // namespace hearth::real
