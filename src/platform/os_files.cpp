#include "platform/os_files.h"

#include <fcntl.h>
#include <stdio.h>  // renameat2's flags
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_kept.h"
#include "base/text.h"
#include "platform/os_process.h"

namespace hearth::os {

namespace {

constexpr int kMaxNames = 64;  // tries for a temporary name that nobody uses

int rename_if_absent(const char* from, const char* to) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    return errno;
  }
  // File systems without that flag: a second name, which cannot replace either, then the first one goes.
  if (::link(from, to) != 0) {
    return errno;
  }
  ::unlink(from);
  return 0;
}

}  // namespace

std::size_t absolute_path(const char* path, char* out, std::size_t capacity) {
  ErrnoKept kept;
  std::size_t folder = 0;
  if (path[0] != '/') {
    // Raw: what it calls a folder that cannot be reached from the root does not begin there.
    if (::syscall(SYS_getcwd, out, capacity) <= 0 || out[0] != '/') return 0;
    folder = std::strlen(out);
    if (out[folder - 1] != '/' && folder + 1 < capacity) out[folder++] = '/';
  }
  text::Writer rest(out + folder, capacity - folder);
  rest << path;
  return rest.truncated() ? 0 : folder + rest.length();
}

int read_some(int file, void* buffer, std::size_t capacity, std::size_t* count) {
  ErrnoKept kept;
  long got = 0;
  do {
    got = ::syscall(SYS_read, file, buffer, capacity);
  } while (got < 0 && errno == EINTR);
  int result = got < 0 ? errno : 0;
  *count = got < 0 ? 0 : static_cast<std::size_t>(got);
  return result;
}

int read_file(const char* path, char* buffer, std::size_t capacity, std::size_t* length) {
  ErrnoKept kept;
  *length = 0;
  buffer[0] = '\0';
  int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  int result = file < 0 ? errno : 0;
  while (result == 0) {
    std::size_t count = 0;
    char probe = 0;
    bool full = *length == capacity - 1;
    result = read_some(file, full ? &probe : buffer + *length, full ? 1 : capacity - 1 - *length, &count);
    if (count == 0) {
      break;
    }
    if (full) {
      result = EFBIG;
    } else {
      *length += count;
    }
  }
  if (file >= 0) {
    ::close(file);
  }
  buffer[*length] = '\0';
  return result;
}

int write_all(int file, const void* data, std::size_t bytes) {
  ErrnoKept kept;
  int result = 0;
  const char* rest = static_cast<const char*>(data);
  while (bytes != 0 && result == 0) {
    long written = ::syscall(SYS_write, file, rest, bytes);
    if (written > 0) {
      rest += written;
      bytes -= static_cast<std::size_t>(written);
    } else if (written == 0) {
      result = EIO;
    } else if (errno != EINTR) {
      result = errno;
    }
  }
  return result;
}

int create(const char* path, NewFile* created) {
  ErrnoKept kept;
  int result = EEXIST;
  text::Writer final_path(created->path, sizeof created->path);
  final_path << path;
  for (int attempt = 0; attempt < kMaxNames && result == EEXIST; ++attempt) {
    text::Writer temporary(created->temporary, sizeof created->temporary);
    temporary << path << ".tmp" << process_id() << '-' << attempt;
    if (final_path.truncated() || temporary.truncated()) {
      result = ENAMETOOLONG;
      break;
    }
    created->file = ::open(created->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    result = created->file >= 0 ? 0 : errno;
  }
  if (result != 0) {
    created->temporary[0] = '\0';  // abandon must not remove somebody else's file
  }
  return result;
}

int publish(NewFile* created, Existing existing, const char* other_path) {
  ErrnoKept kept;
  if (created->file >= 0) {  // before the name: some file systems tell of a failed write only now
    int closed = ::close(created->file);
    created->file = -1;
    if (closed != 0) {
      return errno;
    }
  }
  const char* path = other_path != nullptr ? other_path : created->path;
  int result = 0;
  if (existing == Existing::keep) {
    result = rename_if_absent(created->temporary, path);
  } else {
    result = ::rename(created->temporary, path) == 0 ? 0 : errno;
  }
  if (result == 0) {
    created->temporary[0] = '\0';
  }
  return result;
}

void abandon(NewFile* created) {
  ErrnoKept kept;
  if (created->file >= 0) {
    ::close(created->file);
    created->file = -1;
  }
  if (created->temporary[0] != '\0') {
    ::unlink(created->temporary);
    created->temporary[0] = '\0';
  }
}

}  // namespace hearth::os
