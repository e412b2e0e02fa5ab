// Where a report or trace goes: the path that the user asked for, made concrete, and never someone else's file.
//
// choose_path: at start (cold, allocates). Output::publish: on exit and in signal handlers (async-signal-safe).
// The first publish takes a free name atomically: a name that exists by then is left alone and the next one is tried
// (report.json, report.1.json, ...). Later ones replace this process's own file. Devices and pipes are appended to.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "platform/os_files.h"
#include "report/json.h"

namespace hearth::report {

struct PathInputs {
  std::uint64_t pid = 0;
  std::string host;
  std::string rank;        // RANK, or empty
  std::string world_size;  // WORLD_SIZE, or empty
};

// Expands %p (pid), %h (host), %r (rank, else 0) and %%; any other % stays as it is. Where WORLD_SIZE > 1 and the
// pattern has neither %r nor %p, ".rank<N>" is put before the extension, so that ranks do not contend for one name.
std::string expand_path(const std::string& pattern, const PathInputs& inputs);

// `path` with ".<n>" before its extension; n = 0 gives `path` itself.
std::string numbered_path(const std::string& path, std::uint32_t n);

struct Chosen {
  std::string path;
  bool moved = false;  // the asked-for name was taken: worth one line
};

// The first name that is free at present. An error says what to do: missing directory, no permission, name too long.
Result<Chosen> choose_path(const std::string& pattern, const PathInputs& inputs);

// Trivially destructible, so that it may be a global of the preloaded library.
class Output {
 public:
  // Room for the suffixes of temporaries and numbers.
  static constexpr std::size_t kMaxPath = sizeof(os::NewFile::path);
  static constexpr std::size_t kLongestPath = kMaxPath - 48;

  constexpr Output() = default;
  // False if the path is too long.
  bool set_path(const char* path);
  // Writes the report. 0 or an errno value; EBUSY if a publish is already under way (it will be complete).
  int publish(const Prepared& prepared, const LiveFacts& live);
  // Where the report is, or will be. Changes at most once, in the first publish.
  const char* path() const { return path_; }
  bool moved() const { return moved_; }  // publish had to take another name than set_path's

 private:
  int write(const Prepared& prepared, const LiveFacts& live);
  int commit();

  char path_[kMaxPath] = {};
  char candidate_[kMaxPath] = {};
  os::NewFile file_;  // not on the stack: a signal handler's is small
  bool device_ = false;
  bool owned_ = false;
  bool moved_ = false;
  std::atomic<bool> busy_{false};
};

}  // namespace hearth::report
