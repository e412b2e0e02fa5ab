// IoGuard: keeps the guarded pages of one system call's buffers open while it runs.
//
// The kernel does not fault on a protected page, it returns EFAULT or a short count: data would be lost in silence.
// A hold keeps rearm() from shutting the page while the call blocks; when it ends, the page is armed again at the next
// mark. The kernel's access is reported to the sink like any other.
//
// Thread-safety: lives on the stack of the calling thread; async-signal-safe, errno preserved. A thread cancelled
// inside the call leaves its pages open until the guard stops, which is safe.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "access/guard.h"

namespace hearth::access {

class IoGuard {
 public:
  IoGuard() = default;
  ~IoGuard();
  IoGuard(const IoGuard&) = delete;
  IoGuard& operator=(const IoGuard&) = delete;

  // The kernel writes the buffer (read, recv) or reads it (write, send).
  void fills(const void* buffer, std::size_t bytes) { hold(buffer, bytes, HEARTH_ACCESS_WRITE); }
  void drains(const void* buffer, std::size_t bytes) { hold(buffer, bytes, HEARTH_ACCESS_READ); }
  void fills(const iovec* parts, std::size_t count) { hold(parts, count, HEARTH_ACCESS_WRITE); }
  void drains(const iovec* parts, std::size_t count) { hold(parts, count, HEARTH_ACCESS_READ); }
  void fills(const msghdr* message) { fills(message->msg_iov, message->msg_iovlen); }
  void drains(const msghdr* message) { drains(message->msg_iov, message->msg_iovlen); }
  void fills(const mmsghdr* messages, std::size_t count) {
    for (std::size_t i = 0; i < count && i < kMaxParts; ++i) fills(&messages[i].msg_hdr);
  }
  void drains(const mmsghdr* messages, std::size_t count) {
    for (std::size_t i = 0; i < count && i < kMaxParts; ++i) drains(&messages[i].msg_hdr);
  }
  // The address range is used, its contents are not (mlock).
  void keeps(const void* buffer, std::size_t bytes) { hold(buffer, bytes, HEARTH_ACCESS_UNKNOWN); }

 private:
  static constexpr std::size_t kMaxParts = 1024;   // UIO_MAXIOV: the kernel refuses more without looking at them
  static constexpr std::uint32_t kRemembered = 8;  // more guarded buffers in one call stay open until the guard stops
  struct Range {
    std::uintptr_t address;
    std::size_t bytes;
  };

  void hold(const void* buffer, std::size_t bytes, hearth_access access);
  void hold(const iovec* parts, std::size_t count, hearth_access access);

  Range ranges_[kRemembered];
  std::uint32_t count_ = 0;
};

}  // namespace hearth::access
