// Limits that the program sets while it runs. Address space that is reserved counts against RLIMIT_AS although nothing
// lies there, and would leave the program less than none.
#include <sys/resource.h>
#include <unistd.h>

#include "preload/real.h"
#include "runtime/runtime.h"

namespace real = hearth::real;

// Defined under a name of their own and exported under libc's, whose declarations take an enumeration.
#define HEARTH_EXPORTED __attribute__((visibility("default"), used))

#define HEARTH_DEFINE_SETRLIMIT(name, type)                                                               \
  extern "C" HEARTH_EXPORTED int hearth_hook_##name(int resource, const type* limit) __asm__(#name);      \
  int hearth_hook_##name(int resource, const type* limit) {                                               \
    if (resource == RLIMIT_AS && limit != nullptr) hearth::runtime::limit_address_space(limit->rlim_cur); \
    return real::name(resource, limit);                                                                   \
  }
HEARTH_DEFINE_SETRLIMIT(setrlimit, rlimit)
HEARTH_DEFINE_SETRLIMIT(setrlimit64, rlimit64)

#define HEARTH_DEFINE_PRLIMIT(name, type)                                                                        \
  extern "C" HEARTH_EXPORTED int hearth_hook_##name(pid_t pid, int resource, const type* limit,                  \
                                                    type* former) __asm__(#name);                                \
  int hearth_hook_##name(pid_t pid, int resource, const type* limit, type* former) {                             \
    const bool own = pid == 0 || pid == getpid();                                                                \
    if (own && resource == RLIMIT_AS && limit != nullptr) hearth::runtime::limit_address_space(limit->rlim_cur); \
    return real::name(pid, resource, limit, former);                                                             \
  }
HEARTH_DEFINE_PRLIMIT(prlimit, rlimit)
HEARTH_DEFINE_PRLIMIT(prlimit64, rlimit64)
