#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "platform/os_files.h"
#include "profile/crc32.h"
#include "profile/trace_file.h"

namespace hearth::profile {
namespace {

void put_u32(std::string& out, std::size_t value) {
  const auto narrow = static_cast<std::uint32_t>(value);
  out.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
}

void put_text(std::string& out, std::string_view text) {
  put_u32(out, text.size());
  out.append(text);
}

void put_entry(std::string& out, std::string_view key, std::string_view value) {
  put_text(out, key);
  put_text(out, value);
}

template <class Number>
void put_entry(std::string& out, std::string_view key, Number value) requires std::is_arithmetic_v<Number> {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  put_entry(out, key, std::string_view(text, static_cast<std::size_t>(end - text)));
}

// Every section is padded to 8 bytes, so that the events of a mapped file are aligned.
void pad(std::string& out) { out.resize((out.size() + 7) / 8 * 8); }

std::string info_section(const TraceInfo& info) {
  std::string out;
  put_entry(out, "hearth_version", info.hearth_version);
  put_entry(out, "torch_version", info.torch_version);
  put_entry(out, "command", info.command);
  put_entry(out, "host", info.host);
  put_entry(out, "mode", info.mode);
  put_entry(out, "pid", info.pid);
  put_entry(out, "unix_ns", info.unix_ns);
  put_entry(out, "iteration", info.iteration);
  put_entry(out, "short_ops", info.thresholds.short_ops);
  put_entry(out, "frequency_base", info.thresholds.frequency_base);
  put_entry(out, "frequency_buckets", info.thresholds.frequency_buckets);
  if (info.elastic) put_entry(out, "elastic", 1);
  if (!info.extrapolated.empty()) put_entry(out, "extrapolated", info.extrapolated);
  put_u32(out, 0);  // the empty key ends the list
  pad(out);
  return out;
}

std::string names_section(std::span<const std::string> names) {
  std::string out;
  for (std::size_t i = 1; i < names.size(); ++i) put_text(out, names[i]);
  pad(out);
  return out;
}

Error failure(const std::string& path, int error) {
  std::string cure;
  if (error == ENOENT) cure = "; its directory does not exist, create it or name another";
  if (error == EACCES || error == EPERM || error == EROFS) cure = "; name a path that this user may write to";
  if (error == ENOSPC || error == EDQUOT) cure = "; free space or name a path on another disk";
  if (error == EEXIST) cure = "; remove it or name another path";
  return Error{"cannot write trace " + path + ": " + strerrordesc_np(error) + cure};
}

}  // namespace

Result<void> write_trace(const std::string& path, const TraceInfo& info, std::span<const std::string> names,
                         std::span<const hearth_event> events, std::uint64_t dropped, bool replace) {
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return Error{"cannot write trace " + path + ": it is no regular file; name a file"};
  }
  const std::string info_text = info_section(info);
  const std::string names_text = names_section(names);
  TraceHeader header{};
  std::memcpy(header.magic, kTraceMagic, sizeof(header.magic));
  header.version = HEARTH_TRACE_VERSION;
  header.byte_order = kTraceByteOrder;
  header.event_count = events.size();
  header.dropped = dropped;
  header.names_bytes = names_text.size();
  header.name_count = names.empty() ? 0 : static_cast<std::uint32_t>(names.size() - 1);
  header.event_bytes = sizeof(hearth_event);
  header.info_bytes = static_cast<std::uint32_t>(info_text.size());
  header.file_bytes = sizeof(header) + info_text.size() + names_text.size() + events.size_bytes() + kTraceTrailerBytes;
  Crc32 header_crc;
  header_crc.add(&header, sizeof(header) - sizeof(header.crc));
  header.crc = header_crc.value();

  Crc32 body_crc;
  body_crc.add(info_text.data(), info_text.size());
  body_crc.add(names_text.data(), names_text.size());
  body_crc.add(events.data(), events.size_bytes());
  const std::uint32_t trailer[2] = {body_crc.value(), kTraceByteOrder};
  static_assert(sizeof(trailer) == kTraceTrailerBytes);

  const auto file = std::make_unique<os::NewFile>();  // two paths: too large for the stack of a thread
  int error = os::create(path.c_str(), file.get());
  const auto write = [&](const void* data, std::size_t bytes) {
    if (error == 0) error = os::write_all(file->file, data, bytes);
  };
  write(&header, sizeof(header));
  write(info_text.data(), info_text.size());
  write(names_text.data(), names_text.size());
  write(events.data(), events.size_bytes());
  write(trailer, sizeof(trailer));
  if (error == 0) error = os::publish(file.get(), replace ? os::Existing::replace : os::Existing::keep);
  if (error != 0) os::abandon(file.get());
  if (error != 0) return failure(path, error);
  return {};
}

}  // namespace hearth::profile
