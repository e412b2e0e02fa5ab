// Spin: how a thread waits for another that holds something for the length of one system call.
// Async-signal-safe. After a few turns the processor is given away: the holder may share it with us.
#pragma once

#include "access/raw_syscall.h"

namespace hearth::access {

class Spin {
 public:
  void wait() {
    if (++turns_ % kTurnsBeforeYield == 0) {
      raw(SYS_sched_yield);
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
  bool waited() const { return turns_ != 0; }

 private:
  static constexpr unsigned kTurnsBeforeYield = 64;
  unsigned turns_ = 0;
};

}  // namespace hearth::access
