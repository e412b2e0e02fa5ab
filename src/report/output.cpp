#include "report/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace hearth::report {
namespace {

constexpr std::uint32_t kMaxNumber = 9999;

// Where ".rank0" or ".1" goes: before the extension of the file name, if it has one.
std::size_t stem_length(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos || dot <= name ? path.size() : dot;
}

// numbered_path without allocation; false if it does not fit.
bool write_numbered(char* out, std::size_t size, std::string_view path, std::uint32_t n) {
  char number[16] = ".";
  std::size_t digits = 0;
  if (n > 0) {
    const auto end = std::to_chars(number + 1, number + sizeof(number), n).ptr;
    digits = static_cast<std::size_t>(end - number);
  }
  if (path.size() + digits + 1 > size) return false;
  const std::size_t stem = stem_length(path);
  std::memcpy(out, path.data(), stem);
  std::memcpy(out + stem, number, digits);
  std::memcpy(out + stem + digits, path.data() + stem, path.size() - stem);
  out[path.size() + digits] = '\0';
  return true;
}

// A terminal, pipe or /dev/null is written to as it is: there is nothing to replace, and nothing may be made beside it.
// So is /dev/stdout, which may be a regular file.
bool is_device(const char* path) {
  struct stat status {};
  if (stat(path, &status) != 0 || S_ISDIR(status.st_mode)) return false;
  return !S_ISREG(status.st_mode) || std::string_view(path).starts_with("/dev/std") ||
         std::string_view(path).starts_with("/dev/fd/");
}

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Empty if files can be made there, else what is wrong and what to do.
std::string directory_problem(const std::string& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) {
    if (errno == ENOENT) return "directory " + directory + " does not exist; create it or name another";
    return "directory " + directory + ": " + strerrordesc_np(errno);
  }
  if (!S_ISDIR(status.st_mode)) return directory + " is not a directory; name another path";
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return "directory " + directory + " is not writable (" + strerrordesc_np(errno) + "); name another";
  }
  return {};
}

// The program may be in another folder when the file is written. What cannot be told from the root stays as it is.
std::string from_the_root(std::string path) {
  char absolute[Output::kMaxPath];
  const std::size_t length = os::absolute_path(path.c_str(), absolute, sizeof absolute);
  return length > 0 && length <= Output::kLongestPath ? std::string(absolute, length) : path;
}

bool several_ranks(const std::string& world_size) {
  unsigned long size = 0;
  const char* end = world_size.data() + world_size.size();
  const auto parsed = std::from_chars(world_size.data(), end, size);
  return parsed.ec == std::errc() && parsed.ptr == end && size > 1;
}

}  // namespace

std::string expand_path(const std::string& pattern, const PathInputs& inputs) {
  std::string path;
  bool distinct = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'p':
        path += std::to_string(inputs.pid);
        break;
      case 'h':
        path += inputs.host;
        break;
      case 'r':
        path += inputs.rank.empty() ? "0" : inputs.rank;
        break;
      case '%':
        path += '%';
        break;
      default:
        path += pattern[i];
        continue;
    }
    distinct = distinct || next == 'p' || next == 'r';
    ++i;
  }
  if (!distinct && !inputs.rank.empty() && several_ranks(inputs.world_size)) {
    path.insert(stem_length(path), ".rank" + inputs.rank);
  }
  return path;
}

std::string numbered_path(const std::string& path, std::uint32_t n) {
  std::string out(path.size() + 16, '\0');
  write_numbered(out.data(), out.size(), path, n);
  out.resize(std::strlen(out.c_str()));
  return out;
}

Result<Chosen> choose_path(const std::string& pattern, const PathInputs& inputs) {
  const std::string asked = expand_path(pattern, inputs);
  if (asked.size() > Output::kLongestPath) return Error{"the path is too long; name a shorter one"};
  if (asked.empty() || asked.back() == '/') return Error{"\"" + asked + "\" names no file"};
  if (is_device(asked.c_str())) return Chosen{asked, false};
  if (is_directory(asked)) return Error{asked + " is a directory; name a file in it"};
  if (const std::string problem = directory_problem(directory_of(asked)); !problem.empty()) return Error{problem};
  for (std::uint32_t n = 0; n <= kMaxNumber; ++n) {
    std::string path = numbered_path(asked, n);
    if (!exists(path)) return Chosen{from_the_root(std::move(path)), n > 0};
  }
  return Error{asked + " and all numbered names beside it exist; remove some or name another"};
}

bool Output::set_path(const char* path) {
  const std::size_t length = std::strlen(path);
  if (length > kLongestPath) return false;
  std::memcpy(path_, path, length + 1);
  device_ = is_device(path);
  owned_ = moved_ = false;
  return true;
}

int Output::publish(const Prepared& prepared, const LiveFacts& live) {
  // A signal may interrupt a publish of its own thread: waiting would never end.
  if (busy_.exchange(true, std::memory_order_acquire)) return EBUSY;
  const int error = write(prepared, live);
  os::abandon(&file_);
  busy_.store(false, std::memory_order_release);
  return error;
}

int Output::write(const Prepared& prepared, const LiveFacts& live) {
  if (device_) {
    // A pipe that nobody reads must not stop the training: ENXIO instead of waiting for a reader.
    const int fd = open(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return errno;
    fcntl(fd, F_SETFL, O_APPEND);
    const int error = write_prepared(fd, prepared, live);
    close(fd);
    return error;
  }
  if (const int error = os::create(path_, &file_); error != 0) return error;
  if (const int error = write_prepared(file_.file, prepared, live); error != 0) return error;
  return commit();
}

int Output::commit() {
  if (owned_) return os::publish(&file_, os::Existing::replace);
  for (std::uint32_t n = 0; n <= kMaxNumber; ++n) {
    if (!write_numbered(candidate_, sizeof(candidate_), path_, n)) return ENAMETOOLONG;
    const int error = os::publish(&file_, os::Existing::keep, candidate_);
    if (error == EEXIST) continue;
    if (error != 0) return error;
    owned_ = true;
    moved_ = n > 0;
    std::memcpy(path_, candidate_, sizeof(path_));
    return 0;
  }
  return EEXIST;
}

}  // namespace hearth::report
