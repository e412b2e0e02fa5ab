#include "platform/os_numa.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_kept.h"

namespace hearth::os {
namespace {

// linux/mempolicy.h, whose older versions lack some of them.
constexpr int kDefault = 0;
constexpr int kPreferred = 1;
constexpr int kPreferredMany = 5;
constexpr unsigned kMove = 1U << 1;
constexpr int kMoveOwn = 1 << 1;

// The kernel takes one bit off.
constexpr unsigned long kMaxNode = NodeMask::kNodes + 1;

int mbind(void* address, std::size_t bytes, int mode, const NodeMask* nodes, unsigned flags) {
  ErrnoKept kept;
  const std::uint64_t* words = nodes != nullptr ? nodes->words : nullptr;
  return ::syscall(SYS_mbind, address, bytes, mode, words, nodes != nullptr ? kMaxNode : 0, flags) == 0 ? 0 : errno;
}

int prefer(void* address, std::size_t bytes, const NodeMask& nodes, unsigned flags) {
  if (nodes.count() > 1) {
    const int error = mbind(address, bytes, kPreferredMany, &nodes, flags);
    if (error != EINVAL) return error;
  }
  const unsigned first = nodes.next(0);
  if (first == NodeMask::kNodes) return EINVAL;
  NodeMask one;
  one.set(first);
  return mbind(address, bytes, kPreferred, &one, flags);
}

int call_move_pages(void* const* pages, std::size_t count, const int* nodes, int* status) {
  ErrnoKept kept;
  return ::syscall(SYS_move_pages, 0, count, pages, nodes, status, kMoveOwn) >= 0 ? 0 : errno;
}

}  // namespace

int prefer_nodes(void* address, std::size_t bytes, const NodeMask& nodes) { return prefer(address, bytes, nodes, 0); }

int forget_nodes(void* address, std::size_t bytes) { return mbind(address, bytes, kDefault, nullptr, 0); }

int move_range(void* address, std::size_t bytes, const NodeMask& nodes) { return prefer(address, bytes, nodes, kMove); }

int move_pages(void* const* pages, std::size_t count, int node, int* status) {
  constexpr std::size_t kBatch = 512;
  int nodes[kBatch];
  for (std::size_t i = 0; i < kBatch && i < count; ++i) nodes[i] = node;
  for (std::size_t done = 0; done < count; done += kBatch) {
    const std::size_t batch = count - done < kBatch ? count - done : kBatch;
    if (const int error = call_move_pages(pages + done, batch, nodes, status + done); error != 0) return error;
  }
  return 0;
}

int where_are(void* const* pages, std::size_t count, int* status) {
  return call_move_pages(pages, count, nullptr, status);
}

}  // namespace hearth::os
