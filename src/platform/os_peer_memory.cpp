#include "platform/os_peer_memory.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/errno_kept.h"
#include "base/text.h"

namespace hearth::os {

namespace {

// Where a transfer is in a list of buffers.
class Place {
 public:
  Place(Parts parts, std::size_t done) : part_(parts.first), end_(parts.first + parts.count), at_(done) { settle(); }

  bool ended() const { return part_ == end_; }
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(part_->iov_base) + at_; }
  std::size_t left() const { return part_->iov_len - at_; }
  void advance(std::size_t bytes) {
    at_ += bytes;
    settle();
  }

 private:
  void settle() {
    for (; part_ != end_ && at_ >= part_->iov_len; ++part_) at_ -= part_->iov_len;
  }

  const iovec* part_;
  const iovec* end_;
  std::size_t at_;
};

std::size_t move(pid_t peer, Parts ours, Parts theirs, std::size_t done, int mode, long call) {
  ErrnoKept kept;
  text::Buffer<32> path;
  path << "/proc/" << peer << "/mem";
  const int memory = ::open(path.c_str(), mode | O_CLOEXEC);
  if (memory < 0) return done;
  Place our(ours, done);
  Place their(theirs, done);
  while (!our.ended() && !their.ended()) {
    const long moved = ::syscall(call, memory, our.address(), std::min(our.left(), their.left()), their.address());
    if (moved <= 0) break;
    const auto bytes = static_cast<std::size_t>(moved);
    our.advance(bytes);
    their.advance(bytes);
    done += bytes;
  }
  ::close(memory);
  return done;
}

}  // namespace

std::size_t bytes_of(Parts parts) {
  std::size_t bytes = 0;
  for (unsigned long i = 0; i < parts.count; ++i) bytes += parts.first[i].iov_len;
  return bytes;
}

std::size_t read_peer(pid_t peer, Parts ours, Parts theirs, std::size_t done) {
  return move(peer, ours, theirs, done, O_RDONLY, SYS_pread64);
}

std::size_t write_peer(pid_t peer, Parts ours, Parts theirs, std::size_t done) {
  return move(peer, ours, theirs, done, O_WRONLY, SYS_pwrite64);
}

}  // namespace hearth::os
