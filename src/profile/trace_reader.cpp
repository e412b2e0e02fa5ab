#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "profile/crc32.h"
#include "profile/trace_file.h"

namespace hearth::profile {
namespace {

// Reads length-prefixed text from a section; every length is checked against what is left.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<std::string_view> text() {
    std::uint32_t length = 0;
    if (bytes_.size() < sizeof(length)) return std::nullopt;
    std::memcpy(&length, bytes_.data(), sizeof(length));
    bytes_ = bytes_.subspan(sizeof(length));
    if (bytes_.size() < length) return std::nullopt;
    const std::string_view found(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return found;
  }
  bool only_padding_left() const { return bytes_.size() < 8; }

 private:
  std::span<const std::byte> bytes_;
};

template <class Number>
bool number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Unknown keys are newer than this reader and skipped.
bool take_entry(std::string_view key, std::string_view value, TraceInfo& info) {
  if (key == "hearth_version") return info.hearth_version = value, true;
  if (key == "torch_version") return info.torch_version = value, true;
  if (key == "command") return info.command = value, true;
  if (key == "host") return info.host = value, true;
  if (key == "mode") return info.mode = value, true;
  if (key == "pid") return number(value, info.pid);
  if (key == "unix_ns") return number(value, info.unix_ns);
  if (key == "iteration") return number(value, info.iteration);
  if (key == "short_ops") return number(value, info.thresholds.short_ops);
  if (key == "frequency_base") return number(value, info.thresholds.frequency_base);
  if (key == "frequency_buckets") return number(value, info.thresholds.frequency_buckets);
  if (key == "elastic") return info.elastic = value == "1", true;
  if (key == "extrapolated") return info.extrapolated = value, true;
  return true;
}

bool parse_info(std::span<const std::byte> section, TraceInfo& info) {
  Cursor cursor(section);
  for (;;) {
    const auto key = cursor.text();
    if (!key) return false;
    if (key->empty()) return cursor.only_padding_left();
    const auto value = cursor.text();
    if (!value || !take_entry(*key, *value, info)) return false;
  }
}

bool parse_names(std::span<const std::byte> section, std::uint32_t count, std::vector<std::string>& names) {
  // Each name takes at least its length, so a count beyond that is a lie not worth memory.
  if (count > section.size() / sizeof(std::uint32_t)) return false;
  names.reserve(count + 1u);
  names.emplace_back();
  Cursor cursor(section);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto name = cursor.text();
    if (!name) return false;
    names.emplace_back(*name);
  }
  return cursor.only_padding_left();
}

bool has_name(std::uint8_t type) {
  switch (type) {
    case HEARTH_EVENT_LIVE:
    case HEARTH_EVENT_OP_BEGIN:
    case HEARTH_EVENT_OP_END:
    case HEARTH_EVENT_MODULE_ENTER:
    case HEARTH_EVENT_MODULE_EXIT:
    case HEARTH_EVENT_STEP_BEGIN:
    case HEARTH_EVENT_STEP_END:
      return true;
    default:
      return false;
  }
}

const char* event_problem(const hearth_event& event, std::size_t names) {
  if (event.type < HEARTH_EVENT_LIVE || event.type > HEARTH_EVENT_SAMPLE) return "unknown event type";
  if (has_name(event.type) && event.name >= names) return "name index out of range";
  if (event.access > HEARTH_ACCESS_READ_WRITE) return "unknown access kind";
  return nullptr;
}

// Why a file of `size` bytes that begins with `bytes` is not one we can read; empty if it is. All that follows may
// trust the header's counts.
std::string header_problem(std::span<const std::byte> bytes, std::uint64_t size, TraceHeader& header) {
  if (!looks_like_trace(bytes)) return "not a Hearth trace (HEARTH_TRACE=path makes one)";
  if (bytes.size() < sizeof(header)) return "truncated within its header";
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.byte_order != kTraceByteOrder) {
    return "written by a machine of the other byte order, or damaged; read it on a machine like that";
  }
  Crc32 crc;
  crc.add(&header, sizeof(header) - sizeof(header.crc));
  if (crc.value() != header.crc) return "damaged header (checksum)";
  if (header.version != HEARTH_TRACE_VERSION) {
    return "trace version " + std::to_string(header.version) + ", this program reads version " +
           std::to_string(HEARTH_TRACE_VERSION) + "; use the hearth that wrote it";
  }
  if (header.event_bytes != sizeof(hearth_event)) return "events of a size that version 1 does not have";
  if (header.file_bytes > size) {
    return "truncated: " + std::to_string(size) + " of " + std::to_string(header.file_bytes) + " bytes are there";
  }
  if (header.file_bytes < size) return std::to_string(size - header.file_bytes) + " bytes too many at its end";
  // size bounds every term, so the sum cannot overflow.
  const std::uint64_t fixed = sizeof(TraceHeader) + kTraceTrailerBytes;
  if (size < fixed || header.event_count > size / sizeof(hearth_event) || header.names_bytes > size ||
      fixed + header.info_bytes + header.names_bytes + header.event_count * sizeof(hearth_event) != size) {
    return "the counts in its header do not add up to its size";
  }
  return {};
}

bool body_intact(std::span<const std::byte> body, std::span<const std::byte> trailer_bytes) {
  std::uint32_t trailer[2];
  std::memcpy(trailer, trailer_bytes.data(), sizeof(trailer));
  Crc32 crc;
  crc.add(body.data(), body.size());
  return crc.value() == trailer[0] && trailer[1] == kTraceByteOrder;
}

// Fills `bytes` from `from` on.
bool load(int fd, std::vector<std::byte>& bytes, std::size_t from) {
  while (from < bytes.size()) {
    const ssize_t got = pread(fd, bytes.data() + from, bytes.size() - from, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    from += static_cast<std::size_t>(got);
  }
  return true;
}

Result<Trace> read_descriptor(int fd, const std::string& path) {
  const auto fail = [&](const std::string& why) { return Error{path + ": " + why}; };
  struct stat status {};
  if (fstat(fd, &status) != 0) return fail(strerrordesc_np(errno));
  if (!S_ISREG(status.st_mode)) return fail("not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  std::vector<std::byte> bytes(std::min(size, sizeof(TraceHeader)));
  if (!load(fd, bytes, 0)) return fail("cannot be read to its end");
  // The header vouches for the size before memory is spent on it.
  TraceHeader header;
  if (const std::string problem = header_problem(bytes, size, header); !problem.empty()) return fail(problem);
  bytes.resize(size);
  if (!load(fd, bytes, sizeof(TraceHeader))) return fail("cannot be read to its end");
  return parse_trace(bytes, path);
}

}  // namespace

bool looks_like_trace(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof(kTraceMagic) && std::memcmp(bytes.data(), kTraceMagic, sizeof(kTraceMagic)) == 0;
}

Result<Trace> parse_trace(std::span<const std::byte> bytes, const std::string& name) {
  const auto fail = [&](const std::string& why) { return Error{name + ": " + why}; };
  TraceHeader header;
  if (const std::string problem = header_problem(bytes, bytes.size(), header); !problem.empty()) return fail(problem);
  const auto body = bytes.subspan(sizeof(header), bytes.size() - sizeof(header) - kTraceTrailerBytes);
  if (!body_intact(body, bytes.last(kTraceTrailerBytes))) return fail("damaged (checksum)");

  Trace trace;
  trace.dropped = header.dropped;
  if (!parse_info(body.first(header.info_bytes), trace.info)) return fail("damaged process information");
  const auto names = body.subspan(header.info_bytes, header.names_bytes);
  if (!parse_names(names, header.name_count, trace.names)) return fail("damaged name table");
  const auto events = body.subspan(header.info_bytes + header.names_bytes);
  trace.events.resize(header.event_count);
  if (!events.empty()) std::memcpy(trace.events.data(), events.data(), events.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (const char* problem = event_problem(trace.events[i], trace.names.size())) {
      return fail("event " + std::to_string(i) + ": " + problem);
    }
  }
  return trace;
}

Result<Trace> read_trace(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error{path + ": " + strerrordesc_np(errno)};
  auto result = read_descriptor(fd, path);
  close(fd);
  return result;
}

}  // namespace hearth::profile
