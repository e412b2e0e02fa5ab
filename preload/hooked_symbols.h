// The one list of libc functions that libhearth.so interposes for the page guard. Declarations, definitions and the
// table of originals (real.h) expand from it, and libhearth.map must export every name in it; a test compares the two.
//
// HEARTH_IO_HOOKS(X): X(result, name, (parameters), (arguments), buffers)
//   `buffers` tells an access::IoGuard named `io` what the kernel fills or drains; it runs only while the guard is
//   active. Large transfers of fread and fwrite go from the caller's buffer to the system call inside libc, past any
//   hook of read and write, so they are hooked themselves; the __*_chk names are what fortified programs call.
// HEARTH_MAPPING_HOOKS(X): X(result, name, (parameters), (arguments), (address, bytes))
//   what changes the mapping itself: the range is opened until the guard stops, so that a protection which the program
//   sets stays, and no page is ever protected that is no longer ours.
// HEARTH_SIGNAL_HOOKS(X): X(result, name, (parameters), (arguments)), written out in signal_hooks.cpp.
// HEARTH_PLAIN_ORIGINALS(X): originals that other files of this folder call; nothing of theirs is defined from here.
#pragma once

#include <aio.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

// clang-format off
#define HEARTH_IO_HOOKS(X)                                                                                             \
  X(ssize_t, read, (int fd, void* to, size_t n), (fd, to, n), io.fills(to, n))                                         \
  X(ssize_t, __read_chk, (int fd, void* to, size_t n, size_t room), (fd, to, n, room), io.fills(to, n))                \
  X(ssize_t, pread, (int fd, void* to, size_t n, off_t at), (fd, to, n, at), io.fills(to, n))                          \
  X(ssize_t, pread64, (int fd, void* to, size_t n, off64_t at), (fd, to, n, at), io.fills(to, n))                      \
  X(ssize_t, __pread_chk, (int fd, void* to, size_t n, off_t at, size_t room), (fd, to, n, at, room), io.fills(to, n)) \
  X(ssize_t, __pread64_chk, (int fd, void* to, size_t n, off64_t at, size_t room), (fd, to, n, at, room),              \
    io.fills(to, n))                                                                                                   \
  X(ssize_t, readv, (int fd, const iovec* to, int n), (fd, to, n), io.fills(to, static_cast<size_t>(n)))               \
  X(ssize_t, preadv, (int fd, const iovec* to, int n, off_t at), (fd, to, n, at),                                      \
    io.fills(to, static_cast<size_t>(n)))                                                                              \
  X(ssize_t, preadv64, (int fd, const iovec* to, int n, off64_t at), (fd, to, n, at),                                  \
    io.fills(to, static_cast<size_t>(n)))                                                                              \
  X(ssize_t, preadv2, (int fd, const iovec* to, int n, off_t at, int flags), (fd, to, n, at, flags),                   \
    io.fills(to, static_cast<size_t>(n)))                                                                              \
  X(ssize_t, preadv64v2, (int fd, const iovec* to, int n, off64_t at, int flags), (fd, to, n, at, flags),              \
    io.fills(to, static_cast<size_t>(n)))                                                                              \
  X(ssize_t, write, (int fd, const void* from, size_t n), (fd, from, n), io.drains(from, n))                           \
  X(ssize_t, pwrite, (int fd, const void* from, size_t n, off_t at), (fd, from, n, at), io.drains(from, n))            \
  X(ssize_t, pwrite64, (int fd, const void* from, size_t n, off64_t at), (fd, from, n, at), io.drains(from, n))        \
  X(ssize_t, writev, (int fd, const iovec* from, int n), (fd, from, n), io.drains(from, static_cast<size_t>(n)))       \
  X(ssize_t, pwritev, (int fd, const iovec* from, int n, off_t at), (fd, from, n, at),                                 \
    io.drains(from, static_cast<size_t>(n)))                                                                           \
  X(ssize_t, pwritev64, (int fd, const iovec* from, int n, off64_t at), (fd, from, n, at),                             \
    io.drains(from, static_cast<size_t>(n)))                                                                           \
  X(ssize_t, pwritev2, (int fd, const iovec* from, int n, off_t at, int flags), (fd, from, n, at, flags),              \
    io.drains(from, static_cast<size_t>(n)))                                                                           \
  X(ssize_t, pwritev64v2, (int fd, const iovec* from, int n, off64_t at, int flags), (fd, from, n, at, flags),         \
    io.drains(from, static_cast<size_t>(n)))                                                                           \
  X(ssize_t, recv, (int fd, void* to, size_t n, int flags), (fd, to, n, flags), io.fills(to, n))                       \
  X(ssize_t, __recv_chk, (int fd, void* to, size_t n, size_t room, int flags), (fd, to, n, room, flags),               \
    io.fills(to, n))                                                                                                   \
  X(ssize_t, recvfrom, (int fd, void* to, size_t n, int flags, sockaddr* who, socklen_t* length),                      \
    (fd, to, n, flags, who, length), io.fills(to, n))                                                                  \
  X(ssize_t, __recvfrom_chk, (int fd, void* to, size_t n, size_t room, int flags, sockaddr* who, socklen_t* length),   \
    (fd, to, n, room, flags, who, length), io.fills(to, n))                                                            \
  X(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags), io.fills(message))                   \
  X(int, recvmmsg, (int fd, mmsghdr* messages, unsigned n, int flags, timespec* timeout),                              \
    (fd, messages, n, flags, timeout), io.fills(messages, n))                                                          \
  X(ssize_t, send, (int fd, const void* from, size_t n, int flags), (fd, from, n, flags), io.drains(from, n))          \
  X(ssize_t, sendto, (int fd, const void* from, size_t n, int flags, const sockaddr* to, socklen_t length),            \
    (fd, from, n, flags, to, length), io.drains(from, n))                                                              \
  X(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags), io.drains(message))            \
  X(int, sendmmsg, (int fd, mmsghdr* messages, unsigned n, int flags), (fd, messages, n, flags),                       \
    io.drains(messages, n))                                                                                            \
  X(size_t, fread, (void* to, size_t size, size_t n, FILE* file), (to, size, n, file), io.fills(to, size * n))         \
  X(size_t, fread_unlocked, (void* to, size_t size, size_t n, FILE* file), (to, size, n, file),                        \
    io.fills(to, size * n))                                                                                            \
  X(size_t, __fread_chk, (void* to, size_t room, size_t size, size_t n, FILE* file), (to, room, size, n, file),        \
    io.fills(to, size * n))                                                                                            \
  X(size_t, __fread_unlocked_chk, (void* to, size_t room, size_t size, size_t n, FILE* file),                          \
    (to, room, size, n, file), io.fills(to, size * n))                                                                 \
  X(size_t, fwrite, (const void* from, size_t size, size_t n, FILE* file), (from, size, n, file),                      \
    io.drains(from, size * n))                                                                                         \
  X(size_t, fwrite_unlocked, (const void* from, size_t size, size_t n, FILE* file), (from, size, n, file),             \
    io.drains(from, size * n))                                                                                         \
  X(ssize_t, getrandom, (void* to, size_t n, unsigned flags), (to, n, flags), io.fills(to, n))                         \
  X(int, getentropy, (void* to, size_t n), (to, n), io.fills(to, n))                                                   \
  X(ssize_t, vmsplice, (int fd, const iovec* from, size_t n, unsigned flags), (fd, from, n, flags), io.drains(from, n))\
  X(int, mlock, (const void* address, size_t n), (address, n), io.keeps(address, n))                                   \
  X(int, mlock2, (const void* address, size_t n, unsigned flags), (address, n, flags), io.keeps(address, n))

#define HEARTH_MAPPING_HOOKS(X)                                                                                        \
  X(int, mprotect, (void* address, size_t n, int protection), (address, n, protection), (address, n))                  \
  X(int, pkey_mprotect, (void* address, size_t n, int protection, int key), (address, n, protection, key),             \
    (address, n))                                                                                                      \
  X(int, madvise, (void* address, size_t n, int advice), (address, n, advice), (address, n))                           \
  X(int, posix_madvise, (void* address, size_t n, int advice), (address, n, advice), (address, n))                     \
  X(int, munmap, (void* address, size_t n), (address, n), (address, n))

#define HEARTH_SIGNAL_HOOKS(X)                                                                                         \
  X(int, sigaction, (int signo, const struct sigaction* action, struct sigaction* old), (signo, action, old))          \
  X(int, __sigaction, (int signo, const struct sigaction* action, struct sigaction* old), (signo, action, old))        \
  X(__sighandler_t, signal, (int signo, __sighandler_t handler), (signo, handler))                                     \
  X(__sighandler_t, bsd_signal, (int signo, __sighandler_t handler), (signo, handler))                                 \
  X(__sighandler_t, ssignal, (int signo, __sighandler_t handler), (signo, handler))                                    \
  X(__sighandler_t, sysv_signal, (int signo, __sighandler_t handler), (signo, handler))                                \
  X(__sighandler_t, __sysv_signal, (int signo, __sighandler_t handler), (signo, handler))                              \
  X(int, sigprocmask, (int how, const sigset_t* set, sigset_t* old), (how, set, old))                                  \
  X(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old), (how, set, old))

// Hooked, but by hand: variadic, with control blocks, or with something to do afterwards.
#define HEARTH_OTHER_HOOKS(X)                                                                                          \
  X(ssize_t, process_vm_readv,                                                                                         \
    (pid_t pid, const iovec* to, unsigned long n, const iovec* from, unsigned long m, unsigned long flags),            \
    (pid, to, n, from, m, flags))                                                                                      \
  X(ssize_t, process_vm_writev,                                                                                        \
    (pid_t pid, const iovec* from, unsigned long n, const iovec* to, unsigned long m, unsigned long flags),            \
    (pid, from, n, to, m, flags))                                                                                      \
  X(long, syscall, (long number, long a, long b, long c, long d, long e, long f), (number, a, b, c, d, e, f))          \
  X(void*, mremap, (void* address, size_t n, size_t wanted, int flags, void* target),                                  \
    (address, n, wanted, flags, target))                                                                               \
  X(int, aio_read, (aiocb* request), (request))                                                                        \
  X(int, aio_read64, (aiocb64* request), (request))                                                                    \
  X(int, aio_write, (aiocb* request), (request))                                                                       \
  X(int, aio_write64, (aiocb64* request), (request))

#define HEARTH_PLAIN_ORIGINALS(X)                                                                                      \
  X(void, _exit, (int status), (status))                                                                               \
  X(int, pthread_create, (pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument),   \
    (thread, attributes, run, argument))                                                                               \
  X(int, setrlimit, (int resource, const rlimit* limit), (resource, limit))                                            \
  X(int, setrlimit64, (int resource, const rlimit64* limit), (resource, limit))                                        \
  X(int, prlimit, (pid_t pid, int resource, const rlimit* limit, rlimit* former), (pid, resource, limit, former))      \
  X(int, prlimit64, (pid_t pid, int resource, const rlimit64* limit, rlimit64* former),                                \
    (pid, resource, limit, former))
// clang-format on
