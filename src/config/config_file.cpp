#include "config/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "config/parse.h"
#include "platform/os_files.h"

namespace hearth::config {
namespace {

// Room for the longest path with its name.
constexpr std::size_t kLongestLine = kPathCapacity + 256;

// A # begins a comment at the start of a line or after space, so that it may be part of a path.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || is_space(text[i - 1]))) return trim({text.data(), i});
  }
  return trim(text);
}

// False if something other than a comment follows the closing quote.
bool read_value(std::string_view text, std::string_view& value) {
  text = trim(text);
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) {
    value = without_comment(text);
    return true;
  }
  const char quote = text.front();
  text.remove_prefix(1);
  const std::size_t length = text.size();
  value = take_until(text, quote);
  return value.size() < length && without_comment(text).empty();
}

class Lines {
 public:
  Lines(const char* path, TakeLine take, void* context, Problems& problems)
      : path_(path), take_(take), context_(context), problems_(problems) {}

  void line(std::string_view text) {
    ++number_;
    if (without_comment(text).empty()) return;
    const std::size_t length = text.size();
    const std::string_view name = trim(take_until(text, '='));
    std::string_view value;
    if (name.size() < length && !name.empty() && read_value(text, value)) {
      take_(context_, number_, name, value);
    } else {
      problem("not a line of NAME=value; ignored");
    }
  }

  void too_long() {
    ++number_;
    problem("line too long; ignored");
  }

 private:
  void problem(std::string_view what) { problems_.add() << path_ << ":" << number_ << ": " << what; }

  const char* path_;
  TakeLine take_;
  void* context_;
  Problems& problems_;
  std::uint32_t number_ = 0;
};

int read_lines(int file, Lines& lines) {
  char buffer[kLongestLine];
  std::size_t used = 0;
  bool skipping = false;  // the rest of a line that did not fit
  for (;;) {
    std::size_t count = 0;
    const int error = os::read_some(file, buffer + used, sizeof buffer - used, &count);
    if (error != 0) return error;
    if (count == 0) break;
    used += count;
    std::string_view rest(buffer, used);
    while (const void* end = std::memchr(rest.data(), '\n', rest.size())) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - rest.data());
      if (!skipping) lines.line({rest.data(), length});
      skipping = false;
      rest.remove_prefix(length + 1);
    }
    if (rest.size() == sizeof buffer) {
      if (!skipping) lines.too_long();
      skipping = true;
      rest.remove_prefix(rest.size());
    }
    std::memmove(buffer, rest.data(), rest.size());
    used = rest.size();
  }
  if (used > 0 && !skipping) lines.line({buffer, used});
  return 0;
}

}  // namespace

int read_config_file(const char* path, TakeLine take, void* context, Problems& problems) {
  // O_NONBLOCK: a FIFO must not hang the user's program; it is refused below.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  struct stat status = {};
  int error = fstat(file, &status) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error == 0 && !S_ISREG(status.st_mode)) error = EINVAL;
  Lines lines(path, take, context, problems);
  if (error == 0) error = read_lines(file, lines);
  close(file);
  return error;
}

}  // namespace hearth::config
