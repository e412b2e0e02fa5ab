#include "profile/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace hearth::profile {
namespace {

// "<path>.<pid>.tmp" without snprintf, which a signal handler may not call. 0 if it does not fit.
bool temporary_name(char* out, std::size_t size, const char* path) {
  char digits[16];
  std::size_t count = 0;
  for (auto pid = static_cast<unsigned long>(getpid()); pid > 0; pid /= 10) {
    digits[count++] = static_cast<char>('0' + pid % 10);
  }
  const std::size_t length = std::strlen(path);
  if (length + count + sizeof(".tmp") + 1 > size) return false;
  std::memcpy(out, path, length);
  char* at = out + length;
  *at++ = '.';
  while (count > 0) *at++ = digits[--count];
  std::memcpy(at, ".tmp", sizeof(".tmp"));
  return true;
}

// A rename that never replaces. File systems without RENAME_NOREPLACE get link(2), and those without links a claim of
// the name by O_EXCL, which readers may see empty for a moment.
int rename_if_free(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(from, to) == 0) return unlink(from) == 0 ? 0 : errno;
  if (errno == EEXIST) return EEXIST;
  const int claim = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (claim < 0) return errno;
  close(claim);
  return rename(from, to) == 0 ? 0 : errno;
}

}  // namespace

int write_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

int AtomicFile::open(const char* path) {
  if (!temporary_name(temporary_, sizeof(temporary_), path)) return ENAMETOOLONG;
  // A leftover of a killed process with the same pid is nobody's any more.
  unlink(temporary_);
  fd_ = ::open(temporary_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return fd_ < 0 ? errno : 0;
}

int AtomicFile::write(const void* data, std::size_t bytes) { return write_all(fd_, data, bytes); }

int AtomicFile::commit(const char* path, bool replace) {
  const int error = replace ? (rename(temporary_, path) == 0 ? 0 : errno) : rename_if_free(temporary_, path);
  if (error != 0) return error;
  const int closed = close(fd_);
  fd_ = -1;
  // Network file systems and quotas report a failed write here.
  return closed == 0 || errno == EINTR ? 0 : errno;
}

void AtomicFile::discard() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_);
  fd_ = -1;
}

}  // namespace hearth::profile
