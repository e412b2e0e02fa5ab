// Log: one line per message, `[hearth:PID] W: text`, to stderr or to a file.
//
//   log::warn("cannot reserve ", text::Size{bytes}, ": ", text::Errno{error}, "; running without own pages");
//
// Silent unless something is wrong: warnings and errors by default. At most kMaxRepeats warnings (and as many errors)
// are shown, then one closing line. A cause met over and over on many threads is told once: give it a log::Once.
//
// Thread-safety: init once, early; the rest from any thread, also in signal handlers and forked children.
// No lock, no allocation, errno preserved. The log file is opened for each line: a descriptor kept open would be
// closed by programs that close all of theirs, and its number then belongs to somebody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace hearth::log {

enum class Level : std::uint8_t { error, warn, info, debug };

constexpr std::uint32_t kMaxRepeats = 16;
constexpr std::size_t kMaxLine = 1024;  // longer ones are cut and end in "..."

// `path` null or empty: stderr. Patterns in it are already expanded. False if the file cannot be opened; the messages
// then go to stderr.
bool init(Level level, const char* path);
bool enabled(Level level);

// Writes one message; line breaks inside become blanks.
void write(Level level, std::string_view message);

namespace detail {

class Line : public text::Buffer<kMaxLine> {
 public:
  explicit Line(Level level);
  void send();

 private:
  Level level_;
};

template <class... Parts>
void compose(Level level, const Parts&... parts) {
  if (enabled(level)) {
    Line line(level);
    (line << ... << parts);
    line.send();
  }
}

}  // namespace detail

template <class... Parts>
void error(const Parts&... parts) {
  detail::compose(Level::error, parts...);
}
template <class... Parts>
void warn(const Parts&... parts) {
  detail::compose(Level::warn, parts...);
}
template <class... Parts>
void info(const Parts&... parts) {
  detail::compose(Level::info, parts...);
}
template <class... Parts>
void debug(const Parts&... parts) {
  detail::compose(Level::debug, parts...);
}

// A cause that is told once per process: `constinit log::Once g_denied;`
class Once {
 public:
  constexpr Once() = default;
  // True for the first caller only.
  bool take() { return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> taken_{false};
};

template <class... Parts>
void warn_once(Once& cause, const Parts&... parts) {
  if (cause.take()) {
    detail::compose(Level::warn, parts...);
  }
}

}  // namespace hearth::log
