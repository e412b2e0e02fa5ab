#include "platform/os_process.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "base/errno_kept.h"
#include "platform/os_files.h"

namespace hearth::os {

namespace {

constexpr std::uint32_t kDefaultMaxMappings = 65530;

bool obeys_environment() {
  // Null before libc is set up and after a program has cleared its environment (clearenv).
  return environ != nullptr && ::getauxval(AT_SECURE) == 0;
}

}  // namespace

std::uint32_t process_id() { return static_cast<std::uint32_t>(::getpid()); }

std::uint32_t thread_id() { return static_cast<std::uint32_t>(::gettid()); }

bool host_name(char* buffer, std::size_t capacity) {
  ErrnoKept kept;
  bool known = ::gethostname(buffer, capacity) == 0;
  buffer[known ? capacity - 1 : 0] = '\0';  // a name that was cut off is not terminated
  return known;
}

const char* environment(const char* name) {
  std::size_t length = std::strlen(name);
  for (std::size_t i = 0;; ++i) {
    const char* entry = environment_entry(i);
    if (entry == nullptr) {
      return nullptr;
    }
    if (std::strncmp(entry, name, length) == 0 && entry[length] == '=') {
      return entry + length + 1;
    }
  }
}

const char* environment_entry(std::size_t index) { return obeys_environment() ? environ[index] : nullptr; }

std::uint32_t mapping_count() {
  ErrnoKept kept;
  int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::uint32_t lines = 0;
  char part[2048];
  std::size_t count = 0;
  while (file >= 0 && read_some(file, part, sizeof part, &count) == 0 && count != 0) {
    for (std::size_t i = 0; i < count; ++i) {
      lines += part[i] == '\n';
    }
  }
  if (file >= 0) {
    ::close(file);
  }
  return lines;
}

std::uint32_t max_mapping_count() {
  char content[32];
  std::size_t length = 0;
  if (read_file("/proc/sys/vm/max_map_count", content, sizeof content, &length) != 0) {
    return kDefaultMaxMappings;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length && content[i] >= '0' && content[i] <= '9'; ++i) {
    value = value * 10 + static_cast<std::uint64_t>(content[i] - '0');
  }
  return value > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(value);
}

}  // namespace hearth::os
