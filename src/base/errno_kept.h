// ErrnoKept: a scope that leaves errno as it was. The user's program may be between a failed call and its look at errno
// when one of our hooks or signal handlers runs.
// Thread-safety: errno is per thread. Async-signal-safe.
#pragma once

#include <cerrno>

namespace hearth {

class ErrnoKept {
 public:
  ErrnoKept() : saved_(errno) {}
  ~ErrnoKept() { errno = saved_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int saved_;
};

}  // namespace hearth
