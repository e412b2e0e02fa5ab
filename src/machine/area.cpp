#include "machine/area.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "config/parse.h"
#include "platform/os_files.h"
#include "platform/os_memory.h"

namespace hearth::machine {
namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kSmall = 4096;

std::string told(const char* what, int error) {
  text::Buffer<160> text;
  text << what << ": " << text::Errno{error};
  return std::string(text.view());
}

// Sub-NUMA clusters: as many processors as nodes, in the same order.
unsigned node_for(const os::NodeMask& nodes, unsigned slice, unsigned slices) {
  unsigned node = nodes.next(0);
  for (unsigned skipped = slice * nodes.count() / slices; skipped > 0; --skipped) node = nodes.next(node + 1);
  return node;
}

}  // namespace

std::size_t cache_bytes() {
  // What one core shares; libc's own figure may be that of the whole processor, or of none in a virtual machine.
  char buffer[32];
  std::size_t length = 0;
  if (os::read_file("/sys/devices/system/cpu/cpu0/cache/index3/size", buffer, sizeof buffer, &length) == 0) {
    const config::Parsed size = config::parse_size(config::trim({buffer, length}));
    if (size.verdict == config::Verdict::ok && size.value > 0) return size.value;
  }
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : std::size_t{32} << 20;
}

Area::Area(std::size_t bytes, const os::NodeMask& nodes, unsigned slices, PageSize pages) {
  slice_bytes_ = (bytes / slices + kHuge - 1) & ~(kHuge - 1);
  bytes_ = slice_bytes_ * slices;
  data_ = static_cast<char*>(os::reserve(bytes_, kHuge));
  if (data_ == nullptr || os::commit(data_, bytes_) != 0) {
    problem_ = told("no memory to measure on", ENOMEM);
    return;
  }
  if (pages == PageSize::huge) {
    os::advise_huge(data_, bytes_);  // refused where the kernel has none: then the figures are those of small pages
  } else {
    os::advise_small(data_, bytes_);
  }
  place(nodes, slices);
  if (problem_.empty()) check(nodes);
}

Area::~Area() {
  if (data_ != nullptr) os::unmap(data_, bytes_);
}

void Area::place(const os::NodeMask& nodes, unsigned slices) {
  for (unsigned i = 0; i < slices; ++i) {
    os::NodeMask one;
    one.set(node_for(nodes, i, slices));
    const int error = os::prefer_nodes(slice(i), slice_bytes_, one);
    // One node alone needs no asking, and a container may forbid it.
    if (error != 0 && nodes.count() > 1) problem_ = told("memory cannot be placed on nodes", error);
  }
  if (problem_.empty()) std::memset(data_, 1, bytes_);
}

void Area::check(const os::NodeMask& nodes) {
  constexpr std::size_t kSamples = 64;
  std::vector<void*> pages;
  for (std::size_t i = 0; i < kSamples; ++i) pages.push_back(data_ + bytes_ / kSamples * i / kSmall * kSmall);
  std::vector<int> status(kSamples, -1);
  if (os::where_are(pages.data(), kSamples, status.data()) != 0) return;  // forbidden: believe the policy
  for (const int node : status) {
    if (node >= 0 && !nodes.has(static_cast<unsigned>(node))) {
      problem_ = "the memory came from node " + std::to_string(node) + ": the one asked for is full";
      return;
    }
  }
}

}  // namespace hearth::machine
