// AtomicFile: a file that readers see whole or not at all: written under a temporary name beside the target, renamed
// when complete.
//
// Async-signal-safe: plain system calls, no allocation, no lock; used by the report that a signal asks for. One user at
// a time. Errors are errno values, 0 = success. Not fsynced: a report need not survive the machine, only the process.
// Trivially destructible, since it lives in globals of a preloaded library: whoever opens must commit or discard.
#pragma once

#include <cstddef>

namespace hearth::profile {

class AtomicFile {
 public:
  static constexpr std::size_t kMaxPath = 4096;

  constexpr AtomicFile() = default;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  int open(const char* path);  // creates "<path>.<pid>.tmp"
  int write(const void* data, std::size_t bytes);
  int fd() const { return fd_; }
  // Renames to `path` and closes. With `replace` false an existing file makes it fail with EEXIST, and commit may be
  // tried again under another name.
  int commit(const char* path, bool replace);
  void discard();  // removes the temporary; nothing to do after a commit

 private:
  int fd_ = -1;
  char temporary_[kMaxPath] = {};
};

// write(2) until all is written. 0 or an errno value.
int write_all(int fd, const void* data, std::size_t bytes);

}  // namespace hearth::profile
