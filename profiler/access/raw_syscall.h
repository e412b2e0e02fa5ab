// The system call instruction itself: result >= 0, or -errno; errno is left alone.
// libhearth.so interposes mprotect, read, sigprocmask and syscall(); what the guard calls must not come back to it.
// Thread-safety: any thread, async-signal-safe.
#pragma once

#include <sys/syscall.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace hearth::access {

namespace detail {

inline long raw_syscall(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
  return x0;
#else
#error "Hearth knows the system call convention of x86-64 and aarch64 only"
#endif
}

template <std::integral T>
long word(T value) {
  return static_cast<long>(value);
}
inline long word(std::nullptr_t) { return 0; }
template <class T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace detail

template <class A = int, class B = int, class C = int, class D = int, class E = int, class F = int>
long raw(long number, A a = {}, B b = {}, C c = {}, D d = {}, E e = {}, F f = {}) {
  using detail::word;
  return detail::raw_syscall(number, word(a), word(b), word(c), word(d), word(e), word(f));
}

}  // namespace hearth::access
