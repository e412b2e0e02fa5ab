#include "access/threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include <cstring>

#include "access/raw_signal.h"
#include "base/text.h"
#include "platform/os_files.h"

namespace hearth::access {

namespace {

// Thread id in a directory entry's name; 0 for "." and "..".
std::int32_t parse_id(const char* name) {
  std::int32_t id = 0;
  for (; *name >= '0' && *name <= '9'; ++name) id = id * 10 + (*name - '0');
  return *name == '\0' ? id : 0;
}

template <class Visit>
void for_each_thread(Visit visit) {
  const long directory = raw(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  alignas(dirent64) char entries[4096];
  for (;;) {
    const long bytes = raw(SYS_getdents64, directory, entries, sizeof entries);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      const std::int32_t id = parse_id(entry->d_name);
      if (id != 0) visit(id);
      at += entry->d_reclen;
    }
  }
  raw(SYS_close, directory);
}

std::uint64_t parse_hex(const char* text) {
  std::uint64_t value = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9') {
      value = value << 4 | static_cast<std::uint64_t>(*text - '0');
    } else if (*text >= 'a' && *text <= 'f') {
      value = value << 4 | static_cast<std::uint64_t>(*text - 'a' + 10);
    } else {
      return value;
    }
  }
}

// Threads that block all signals and never touch a program's memory, by name: jemalloc's purging threads, which
// PyTorch's own tuning guide switches on; and our movers, which are stopped while an iteration is profiled.
constexpr const char* kHarmless[] = {"Name:\tjemalloc_bg_thd\n", "Name:\thearth-mover\n"};

bool harmless(const char* status) {
  for (const char* name : kHarmless) {
    if (std::strncmp(status, name, std::strlen(name)) == 0) return true;
  }
  return false;
}

std::uint64_t blocked_signals(std::int32_t thread) {
  constexpr const char* kLine = "\nSigBlk:\t";
  text::Buffer<64> path;
  path << "/proc/self/task/" << thread << "/status";
  char content[4096];
  std::size_t length = 0;
  if (os::read_file(path.c_str(), content, sizeof content, &length) != 0 || harmless(content)) return 0;
  const char* line = std::strstr(content, kLine);
  return line != nullptr ? parse_hex(line + std::strlen(kLine)) : 0;
}

}  // namespace

std::uint32_t list_threads(std::int32_t* ids, std::uint32_t capacity) {
  std::uint32_t count = 0;
  for_each_thread([&](std::int32_t id) {
    if (count < capacity) ids[count] = id;
    ++count;
  });
  return count;
}

bool any_thread_blocks(int signo) {
  constexpr long kLastPauseNs = 64'000'000;
  for (timespec pause{0, 500'000}; pause.tv_nsec <= kLastPauseNs; pause.tv_nsec *= 2) {
    bool found = false;
    for_each_thread([&](std::int32_t id) { found = found || (blocked_signals(id) & signal_bit(signo)) != 0; });
    if (!found) return false;
    raw(SYS_nanosleep, &pause, nullptr);
  }
  return true;
}

}  // namespace hearth::access
