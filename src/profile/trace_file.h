// Trace file: the events of one profiled iteration and what is needed to read them later (docs/trace-format.md).
//
// The writer runs in the training process once, after the profiled iteration; it allocates little (the events are
// written from where they are) and throws only std::bad_alloc. The reader runs in tools and trusts nothing: every count
// is checked against the file's size before anything is allocated, every index before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "hearth/trace.h"
#include "profile/profile.h"

namespace hearth::profile {

struct TraceInfo {
  std::string hearth_version;
  std::string torch_version;
  std::string command;
  std::string host;
  std::string mode;  // ops, faults, pages
  std::uint64_t pid = 0;
  std::uint64_t unix_ns = 0;    // when the iteration began
  std::uint64_t iteration = 0;  // its number
  bool elastic = false;         // the iterations before it ran the same ops with other sizes (plan/elastic.h)
  std::string extrapolated;     // from what (scale/scale.h); empty: it was measured
  Thresholds thresholds;
};

struct Trace {
  TraceInfo info;
  std::uint64_t dropped = 0;
  std::vector<std::string> names;  // names[0] = ""
  std::vector<hearth_event> events;
};

// Writes to `path` through a temporary file. With `replace` false an existing file is an error.
Result<void> write_trace(const std::string& path, const TraceInfo& info, std::span<const std::string> names,
                         std::span<const hearth_event> events, std::uint64_t dropped, bool replace = true);

Result<Trace> read_trace(const std::string& path);

// The same from memory; `name` is what errors call it.
Result<Trace> parse_trace(std::span<const std::byte> bytes, const std::string& name);

// Does it begin like a trace file?
bool looks_like_trace(std::span<const std::byte> bytes);

constexpr char kTraceMagic[8] = {'H', 'E', 'A', 'R', 'T', 'H', 'T', 'R'};
constexpr std::uint32_t kTraceByteOrder = 0x01020304;
constexpr std::size_t kTraceTrailerBytes = 8;  // CRC-32 of all between header and trailer, and kTraceByteOrder again

// First 64 bytes of the file; `crc` is the CRC-32 of what precedes it.
struct TraceHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t file_bytes;
  std::uint64_t event_count;
  std::uint64_t dropped;
  std::uint64_t names_bytes;
  std::uint32_t name_count;   // without the empty name 0
  std::uint32_t event_bytes;  // sizeof(hearth_event)
  std::uint32_t info_bytes;
  std::uint32_t crc;
};
static_assert(sizeof(TraceHeader) == 64, "TraceHeader is a file format");

}  // namespace hearth::profile
