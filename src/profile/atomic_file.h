// AtomicFile: a file that readers see whole or not at all: written under a temporary name beside the target, renamed
// when complete. The temporary is removed if it is not committed.
//
// Async-signal-safe: plain system calls, no allocation, no lock; used by the report that a signal asks for. One user at
// a time. Errors are errno values, 0 = success. Not fsynced: a report need not survive the machine, only the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::profile {

class AtomicFile {
 public:
  static constexpr std::size_t kMaxPath = 4096;

  AtomicFile() = default;
  ~AtomicFile() { discard(); }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  int open(const char* path);  // creates "<path>.<pid>.tmp"
  int write(const void* data, std::size_t bytes);
  int fd() const { return fd_; }
  // Renames to the path given to open(). With `replace` false an existing file makes it fail with EEXIST, and commit
  // may be tried again under another name.
  int commit(bool replace) { return commit_as(path_, replace); }
  int commit_as(const char* path, bool replace);
  void discard();

 private:
  int fd_ = -1;
  char path_[kMaxPath] = {};
  char temporary_[kMaxPath] = {};
};

}  // namespace hearth::profile
