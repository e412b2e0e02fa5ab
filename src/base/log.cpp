#include "base/log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_kept.h"

namespace hearth::log {

namespace {

constexpr std::size_t kMaxPath = 4096;

constinit std::atomic<Level> g_level{Level::warn};
constinit std::atomic<bool> g_to_file{false};  // release: g_path is complete
constinit char g_path[kMaxPath] = {};
constinit std::atomic<std::uint32_t> g_shown[2] = {};  // errors, warnings

int open_log_file() { return ::open(g_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644); }

// By system call: the library interposes write() to guard the buffers of the user's program, not ours.
void write_line(std::string_view line) {
  ErrnoKept kept;
  int file = g_to_file.load(std::memory_order_acquire) ? open_log_file() : -1;
  long written = 0;
  do {
    written = ::syscall(SYS_write, file >= 0 ? file : STDERR_FILENO, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (file >= 0) {
    ::close(file);
  }
}

void write_closing_line(Level level) {
  detail::Line line(level);
  line << "more messages of this kind follow; only the first " << kMaxRepeats << " are shown\n";
  write_line(line.view());
}

}  // namespace

bool init(Level level, const char* path) {
  ErrnoKept kept;
  g_level.store(level, std::memory_order_relaxed);
  g_to_file.store(false, std::memory_order_relaxed);
  std::size_t length = path != nullptr ? std::strlen(path) : 0;
  if (length == 0) {
    return true;
  }
  if (length >= kMaxPath) {
    return false;
  }
  std::memcpy(g_path, path, length + 1);
  int file = open_log_file();
  if (file < 0) {
    return false;
  }
  ::close(file);
  g_to_file.store(true, std::memory_order_release);
  return true;
}

bool enabled(Level level) { return level <= g_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view message) { detail::compose(level, message); }

detail::Line::Line(Level level) : level_(level) {
  *this << "[hearth:" << ::getpid() << "] "
        << "EWID"[static_cast<unsigned>(level)] << ": ";
}

void detail::Line::send() {
  if (level_ <= Level::warn) {
    std::uint32_t shown = g_shown[static_cast<unsigned>(level_)].fetch_add(1, std::memory_order_relaxed);
    if (shown == kMaxRepeats) {
      write_closing_line(level_);
    }
    if (shown >= kMaxRepeats) {
      return;
    }
  }
  char line[kMaxLine + 1];
  std::size_t length = this->length();
  for (std::size_t i = 0; i < length; ++i) {
    char character = view()[i];
    line[i] = character == '\n' || character == '\r' ? ' ' : character;
  }
  if (truncated()) {
    std::memcpy(line + length - 3, "...", 3);
  }
  line[length] = '\n';
  write_line({line, length + 1});
}

}  // namespace hearth::log
