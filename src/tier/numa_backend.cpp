#include "tier/numa_backend.h"

#include <algorithm>
#include <cerrno>

#include "platform/os_clock.h"
#include "platform/os_memory.h"
#include "platform/os_thread.h"

namespace hearth::tier {
namespace {

constexpr std::size_t kBatch = 512;  // pages of one call: 2 MiB
constexpr std::uint32_t kRetries = 3;
constexpr std::uint64_t kPauseNs = 50'000;

}  // namespace

// Pages that are still to be moved, and where they were when last asked for.
struct NumaBackend::Batch {
  void* pages[kBatch];
  int status[kBatch];
  std::size_t count = 0;

  void fill(std::uintptr_t begin, std::size_t wanted) {
    count = wanted;
    for (std::size_t i = 0; i < wanted; ++i) pages[i] = reinterpret_cast<void*>(begin + i * Pages::kPage);
  }
  // Keeps the pages that are on none of `nodes`; counts the others.
  void keep_missing(const os::NodeMask& nodes, Moved& moved) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (status[i] < 0) {
        moved.absent += Pages::kPage;
      } else if (nodes.has(static_cast<unsigned>(status[i]))) {
        moved.there += Pages::kPage;
      } else {
        pages[kept++] = pages[i];
      }
    }
    count = kept;
  }
};

int NumaBackend::bind(Extent pages, Tier tier) {
  return os::prefer_nodes(pages.mutable_address(), pages.bytes, nodes(tier));
}

void NumaBackend::move_batch(Batch& batch, Tier to, Moved& moved) {
  const os::NodeMask& target = nodes(to);
  int error = os::where_are(batch.pages, batch.count, batch.status);
  ++moved.calls;
  if (error == 0) batch.keep_missing(target, moved);
  unsigned node = target.next(0);
  for (std::uint32_t attempt = 0; error == 0 && batch.count != 0 && attempt <= kRetries; ++attempt) {
    if (attempt != 0) {
      ++moved.retries;
      os::sleep_until(os::monotonic_ns() + kPauseNs * attempt);
    }
    error = os::move_pages(batch.pages, batch.count, static_cast<int>(node), batch.status);
    ++moved.calls;
    if (error != 0) break;
    int refusal = 0;
    for (std::size_t i = 0; i < batch.count; ++i) refusal = batch.status[i] < 0 ? -batch.status[i] : refusal;
    error = os::where_are(batch.pages, batch.count, batch.status);
    ++moved.calls;
    if (error == 0) batch.keep_missing(target, moved);
    if (batch.count != 0) moved.error = refusal != 0 ? refusal : EBUSY;
    if (refusal == ENOMEM) {
      // This node is full; the tier may have another.
      node = target.next(node + 1);
      if (node == os::NodeMask::kNodes) break;
    }
  }
  if (error != 0) moved.error = error;
  moved.failed += batch.count * Pages::kPage;
}

// Those that have memory.
Moved NumaBackend::move_present(Extent pages, Tier to) {
  Moved moved;
  Batch batch;
  std::uintptr_t begin = pages.begin() / Pages::kPage * Pages::kPage;
  while (begin < pages.end()) {
    const std::size_t left = (pages.end() - begin + Pages::kPage - 1) / Pages::kPage;
    const std::size_t count = std::min(left, kBatch);
    batch.fill(begin, count);
    move_batch(batch, to, moved);
    begin += count * Pages::kPage;
  }
  if (moved.failed == 0) moved.error = 0;
  return moved;
}

// By whichever way is to be tried or is the quicker one. False if mbind is not to be used, or was refused.
bool NumaBackend::move_unit(Extent unit, Tier to, Moved& moved) {
  const auto way = quicker_.choose(unit.begin() / kMoveUnit, to);
  const std::uint64_t begin = os::monotonic_ns();
  if (way == QuickerWay::Way::range) {
    if (os::move_range(unit.mutable_address(), unit.bytes, nodes(to)) != 0) {
      quicker_.refuse_range(to);
      return false;
    }
  }
  moved = move_present(unit, to);
  if (moved.there == unit.bytes) quicker_.took(to, way, os::monotonic_ns() - begin);
  if (way == QuickerWay::Way::range) ++moved.calls;
  moved.bound = way == QuickerWay::Way::range;
  return true;
}

Moved NumaBackend::move(Extent pages, Tier to) {
  Moved moved;
  const bool is_unit = pages.begin() % kMoveUnit == 0 && pages.bytes == kMoveUnit;
  if (!is_unit || !move_unit(pages, to, moved)) moved = move_present(pages, to);
  if (moved.absent == 0 || moved.bound) return moved;
  // The rest is to come from there as well. What was touched meanwhile is looked for once more.
  const int error = bind(whole_pages(pages), to);
  Moved again = move_present(pages, to);
  again.calls += moved.calls + 1;
  again.retries += moved.retries;
  again.bound = error == 0;
  if (error != 0) {
    again.failed += again.absent;
    again.absent = 0;
    again.error = error;
  }
  return again;
}

const char* NumaBackend::moves_by(Tier to) const {
  switch (quicker_.found(to)) {
    case QuickerWay::Way::unknown:
      return "measuring";
    case QuickerWay::Way::pages:
      return "move_pages";
    case QuickerWay::Way::range:
      return "mbind";
  }
  return "";
}

// The kernel has one copy of a page; where it came from has been given to others.
bool NumaBackend::drop_clean(Extent) { return false; }

bool NumaBackend::forget(Extent pages) {
  const Extent inner = pages_within(pages);
  return inner.bytes != 0 && os::discard(inner.mutable_address(), inner.bytes) == 0;
}

int NumaBackend::locate(const void* address, std::size_t count, Tier* tiers) {
  void* pages[kBatch];
  int status[kBatch];
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t done = 0; done < count;) {
    const std::size_t batch = std::min(count - done, kBatch);
    for (std::size_t i = 0; i < batch; ++i) pages[i] = reinterpret_cast<void*>(begin + (done + i) * Pages::kPage);
    if (const int error = os::where_are(pages, batch, status); error != 0) return error;
    for (std::size_t i = 0; i < batch; ++i) {
      const bool here = status[i] >= 0;
      const bool slow = here && slow_.has(static_cast<unsigned>(status[i]));
      tiers[done + i] = !here ? Tier::none : slow ? Tier::slow : Tier::fast;
    }
    done += batch;
  }
  return 0;
}

}  // namespace hearth::tier
