// The interposed calls through which the kernel reads or writes tensor memory, and those that change mappings.
//
// A system call that meets a protected page returns EFAULT or a short count and raises no signal, so buffers are opened
// first. Idle cost: one relaxed load and the jump through the table of originals. Nothing here allocates or locks; a
// cancellation that unwinds through a hook leaves the buffer open, which is safe.
//
// Not covered, since no libc function carries them: io_uring and libaio submissions, and system calls inlined by the
// program. Other processes that read our memory: peer_hooks.cpp. docs/profiling.md says so to the user.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdarg>

#include "access/io_guard.h"
#include "preload/real.h"

namespace guard = hearth::access;  // unistd.h has a function of the other name
namespace real = hearth::real;

// Defined under a name of their own and exported under libc's: the headers' inline and redirected declarations of the
// same functions do not interfere.
#define HEARTH_EXPORTED __attribute__((visibility("default"), used))

#define HEARTH_DEFINE_IO_HOOK(result, name, parameters, arguments, buffers)       \
  extern "C" HEARTH_EXPORTED result hearth_hook_##name parameters __asm__(#name); \
  result hearth_hook_##name parameters {                                          \
    if (!guard::active()) return real::name arguments;                            \
    guard::IoGuard io;                                                            \
    buffers;                                                                      \
    return real::name arguments;                                                  \
  }
HEARTH_IO_HOOKS(HEARTH_DEFINE_IO_HOOK)

#define HEARTH_DEFINE_MAPPING_HOOK(result, name, parameters, arguments, range)    \
  extern "C" HEARTH_EXPORTED result hearth_hook_##name parameters __asm__(#name); \
  result hearth_hook_##name parameters {                                          \
    if (guard::active()) guard::prepare_io range;                                 \
    return real::name arguments;                                                  \
  }
HEARTH_MAPPING_HOOKS(HEARTH_DEFINE_MAPPING_HOOK)

// The request outlives the call: its buffer stays open until the guard stops.
#define HEARTH_DEFINE_AIO_HOOK(name, type, kind)                                               \
  extern "C" HEARTH_EXPORTED int hearth_hook_##name(type* request) __asm__(#name);             \
  int hearth_hook_##name(type* request) {                                                      \
    if (guard::active()) {                                                                     \
      guard::prepare_io(const_cast<const void*>(request->aio_buf), request->aio_nbytes, kind); \
    }                                                                                          \
    return real::name(request);                                                                \
  }
HEARTH_DEFINE_AIO_HOOK(aio_read, aiocb, HEARTH_ACCESS_WRITE)
HEARTH_DEFINE_AIO_HOOK(aio_read64, aiocb64, HEARTH_ACCESS_WRITE)
HEARTH_DEFINE_AIO_HOOK(aio_write, aiocb, HEARTH_ACCESS_READ)
HEARTH_DEFINE_AIO_HOOK(aio_write64, aiocb64, HEARTH_ACCESS_READ)

extern "C" HEARTH_EXPORTED void* hearth_hook_mremap(void* address, size_t n, size_t wanted, int flags,
                                                    ...) __asm__("mremap");
void* hearth_hook_mremap(void* address, size_t n, size_t wanted, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* target = va_arg(rest, void*);  // read in any case, as libc does
  va_end(rest);
  if (guard::active()) guard::prepare_io(address, n);
  return real::mremap(address, n, wanted, flags, target);
}

namespace {

template <class T>
const T* pointer(long word) {
  return reinterpret_cast<const T*>(word);
}

void guard_system_call(guard::IoGuard& io, long number, long a, long b, long c) {
  const auto n = static_cast<size_t>(c);
  switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_recvfrom:
      return io.fills(pointer<void>(b), n);
    case SYS_write:
    case SYS_pwrite64:
    case SYS_sendto:
      return io.drains(pointer<void>(b), n);
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
      return io.fills(pointer<iovec>(b), n);
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_vmsplice:
      return io.drains(pointer<iovec>(b), n);
    case SYS_recvmsg:
      return io.fills(pointer<msghdr>(b));
    case SYS_sendmsg:
      return io.drains(pointer<msghdr>(b));
    case SYS_recvmmsg:
      return io.fills(pointer<mmsghdr>(b), n);
    case SYS_sendmmsg:
      return io.drains(pointer<mmsghdr>(b), n);
    case SYS_getrandom:
      return io.fills(pointer<void>(a), static_cast<size_t>(b));
    case SYS_mlock:
    case SYS_mlock2:
      return io.keeps(pointer<void>(a), static_cast<size_t>(b));
    // mbind and move_pages work on protected pages; what changes the mapping itself opens it until the guard stops.
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_madvise:
    case SYS_munmap:
    case SYS_mremap:
      return guard::prepare_io(pointer<void>(a), static_cast<size_t>(b));
    default:
      return;
  }
}

}  // namespace

extern "C" HEARTH_EXPORTED long hearth_hook_syscall(long number, ...) __asm__("syscall");
long hearth_hook_syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (long& word : words) word = va_arg(rest, long);  // libc passes six on as well, whatever the call takes
  va_end(rest);
  if (number == SYS_process_vm_readv || number == SYS_process_vm_writev) [[unlikely]] {
    auto* call = number == SYS_process_vm_readv ? process_vm_readv : process_vm_writev;
    return call(static_cast<pid_t>(words[0]), pointer<iovec>(words[1]), static_cast<unsigned long>(words[2]),
                pointer<iovec>(words[3]), static_cast<unsigned long>(words[4]), static_cast<unsigned long>(words[5]));
  }
  if (!guard::active()) return real::syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  guard::IoGuard io;
  guard_system_call(io, number, words[0], words[1], words[2]);
  return real::syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
