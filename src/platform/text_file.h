// Small text files, whole: read with a bound, written so that they appear under their name only when complete. For cold
// code only (allocates), inside the training process too; what it reads with is guarded as os_files.h says.
//
// Thread-safety: any thread. May throw bad_alloc, nothing else. Errors name the path and the cause.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/os_files.h"

namespace hearth::os {

namespace detail {

// `cure` follows what is wrong with the file itself: "; name a plan that hearth plan wrote".
inline Result<std::string> read_descriptor(int file, const std::string& path, std::size_t most, const char* cure) {
  struct stat status {};
  if (fstat(file, &status) != 0) return Error{path + ": " + strerrordesc_np(errno)};
  if (!S_ISREG(status.st_mode)) return Error{path + ": not a regular file" + cure};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > most) return Error{path + ": too large" + cure};
  std::string text(size, '\0');
  for (std::size_t from = 0; from < size;) {
    std::size_t count = 0;
    const int error = read_some(file, text.data() + from, size - from, &count);
    if (error != 0) return Error{path + ": " + strerrordesc_np(error)};
    if (count == 0) return Error{path + ": became shorter while it was read; try again"};
    from += count;
  }
  return text;
}

inline const char* cure_for(int error) {
  if (error == ENOENT) return "; its directory does not exist, create it or name another";
  if (error == EACCES || error == EPERM || error == EROFS) return "; name a path that this user may write to";
  if (error == ENOSPC || error == EDQUOT) return "; free space or name a path on another disk";
  return "";
}

}  // namespace detail

inline Result<std::string> read_text(const std::string& path, std::size_t most, const char* cure) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe that nobody writes to
  if (file < 0) return Error{path + ": " + strerrordesc_np(errno)};
  Result<std::string> text = detail::read_descriptor(file, path, most, cure);
  close(file);
  return text;
}

// Replaces a file that is there. `what` is what errors call it: "plan".
inline Result<void> write_text(std::string_view text, const std::string& path, const char* what) {
  const std::string failure = std::string("cannot write ") + what + " " + path + ": ";
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return Error{failure + "it is no regular file; name a file"};
  }
  const auto file = std::make_unique<NewFile>();  // two paths: too large for the stack of a thread
  int error = create(path.c_str(), file.get());
  if (error == 0) error = write_all(file->file, text.data(), text.size());
  if (error == 0) error = publish(file.get(), Existing::replace);
  if (error == 0) return {};
  abandon(file.get());
  return Error{failure + strerrordesc_np(error) + detail::cure_for(error)};
}

}  // namespace hearth::os
