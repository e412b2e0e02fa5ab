#include "tier/pages.h"

#include <algorithm>

#include "platform/os_clock.h"
#include "platform/os_memory.h"

namespace hearth::tier {
namespace {

constexpr std::uint8_t kTierBits = 3;
constexpr unsigned kBoundShift = 2;
constexpr std::uint8_t kBoundBits = 3 << kBoundShift;
constexpr std::uint8_t kOwn = 1 << 4;

constexpr std::uint64_t page_down(std::uintptr_t address) { return address / Pages::kPage * Pages::kPage; }
constexpr std::uint64_t page_up(std::uintptr_t address) { return page_down(address + Pages::kPage - 1); }

Tier tier_of(std::uint8_t state) { return static_cast<Tier>(state & kTierBits); }
Tier bound_of(std::uint8_t state) { return static_cast<Tier>((state & kBoundBits) >> kBoundShift); }

std::uint8_t with_tier(std::uint8_t state, Tier tier) {
  return static_cast<std::uint8_t>((state & ~kTierBits) | static_cast<std::uint8_t>(tier));
}

// 65 us: fine enough for moves; page_ticks() of a TiB stay below 2^64 for fifty days.
std::uint64_t tick_now() { return os::monotonic_ns() >> 16; }

// True if the page was on `from` and is on `to` now.
bool swap(std::atomic<std::uint8_t>& state, Tier from, Tier to) {
  std::uint8_t seen = state.load(std::memory_order_relaxed);
  while (tier_of(seen) == from) {
    if (state.compare_exchange_weak(seen, with_tier(seen, to), std::memory_order_relaxed)) return true;
  }
  return false;
}

// The tier that the page was on; none now.
Tier empty(std::atomic<std::uint8_t>& state) {
  std::uint8_t seen = state.load(std::memory_order_relaxed);
  const auto emptied = [](std::uint8_t was) { return static_cast<std::uint8_t>(with_tier(was, Tier::none) & ~kOwn); };
  while (!state.compare_exchange_weak(seen, emptied(seen), std::memory_order_relaxed)) {
  }
  return tier_of(seen);
}

}  // namespace

bool Pages::add_range(const void* base, std::uint64_t bytes) {
  const std::uint32_t number = count_.load(std::memory_order_relaxed);
  if (number == kRanges) return false;
  void* state = os::map_zeroed(std::max<std::uint64_t>(bytes / kPage, 1));
  if (state == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  ranges_[number] = {begin, begin + bytes, static_cast<std::atomic<std::uint8_t>*>(state)};
  count_.store(number + 1, std::memory_order_release);
  return true;
}

const Pages::Range* Pages::range_of(std::uintptr_t address) const {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (address - ranges_[i].base < ranges_[i].end - ranges_[i].base) return &ranges_[i];
  }
  return nullptr;
}

template <class Each>
void Pages::each_page(Extent pages, const Each& each) const {
  const Range* range = pages.bytes != 0 ? range_of(pages.begin()) : nullptr;
  if (range == nullptr) return;
  const std::uint64_t first = (page_down(pages.begin()) - range->base) / kPage;
  const std::uint64_t last = (page_up(std::min(pages.end(), range->end)) - range->base) / kPage;
  for (std::uint64_t page = first; page < last; ++page) each(range->state[page]);
}

bool Pages::claim(std::uint64_t bytes) {
  std::uint64_t claimed = claimed_.load(std::memory_order_relaxed);
  do {
    const std::uint64_t limit = capacity();
    if (claimed > limit || bytes > limit - claimed) return false;
  } while (!claimed_.compare_exchange_weak(claimed, claimed + bytes, std::memory_order_relaxed));
  weigh(bytes / kPage);
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (claimed + bytes > peak && !peak_.compare_exchange_weak(peak, claimed + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void Pages::weigh(std::uint64_t pages) {
  if (pages != 0) weighted_.fetch_add(pages * tick_now(), std::memory_order_relaxed);
}

std::uint64_t Pages::page_ticks(std::uint64_t now) const {
  return fast_bytes() / kPage * now - weighted_.load(std::memory_order_relaxed);
}

void Pages::restart_average() {
  average_from_ = tick_now();
  average_base_ = page_ticks(average_from_);
}

std::uint64_t Pages::fast_average() const {
  const std::uint64_t now = tick_now();
  if (now <= average_from_) return fast_bytes();
  return (page_ticks(now) - average_base_) / (now - average_from_) * kPage;
}

std::uint64_t Pages::claim_some(std::uint64_t bytes) {
  while (bytes != 0 && !claim(bytes)) {
    const std::uint64_t limit = capacity();
    const std::uint64_t used = fast_bytes();
    const std::uint64_t room = used < limit ? (limit - used) / kPage * kPage : 0;
    bytes = std::min(bytes - kPage, room);
  }
  return bytes;
}

std::uint64_t Pages::settle(Extent pages, Tier tier) {
  std::uint64_t changed = 0;
  each_page(pages, [&](std::atomic<std::uint8_t>& state) { changed += swap(state, Tier::none, tier) ? kPage : 0; });
  if (tier == Tier::slow) slow_.fetch_add(changed, std::memory_order_relaxed);
  return changed;
}

std::uint64_t Pages::change(Extent pages, Tier to) {
  std::uint64_t changed = 0;
  each_page(pages, [&](std::atomic<std::uint8_t>& state) { changed += swap(state, other(to), to) ? kPage : 0; });
  if (to == Tier::slow) {
    unclaim(changed);
    slow_.fetch_add(changed, std::memory_order_relaxed);
  } else {
    slow_.fetch_sub(changed, std::memory_order_relaxed);
  }
  return changed;
}

void Pages::vacate(Extent pages) {
  std::uint64_t fast = 0;
  std::uint64_t slow = 0;
  each_page(pages, [&](std::atomic<std::uint8_t>& state) {
    const Tier former = empty(state);
    fast += former == Tier::fast ? kPage : 0;
    slow += former == Tier::slow ? kPage : 0;
  });
  unclaim(fast);
  slow_.fetch_sub(slow, std::memory_order_relaxed);
}

void Pages::set_own(Extent pages) {
  each_page(pages, [](std::atomic<std::uint8_t>& state) { state.fetch_or(kOwn, std::memory_order_relaxed); });
}

bool Pages::own(const void* address) const {
  bool own = false;
  each_page({address, 1},
            [&](const std::atomic<std::uint8_t>& state) { own = (state.load(std::memory_order_relaxed) & kOwn) != 0; });
  return own;
}

Residency Pages::of(Extent pages) const {
  std::uint64_t counts[4] = {};
  each_page(pages, [&](const std::atomic<std::uint8_t>& state) {
    ++counts[static_cast<std::uint8_t>(tier_of(state.load(std::memory_order_relaxed)))];
  });
  return {counts[static_cast<int>(Tier::fast)] * kPage, counts[static_cast<int>(Tier::slow)] * kPage,
          counts[static_cast<int>(Tier::none)] * kPage};
}

Tier Pages::at(const void* address) const {
  Tier tier = Tier::none;
  each_page({address, 1},
            [&](const std::atomic<std::uint8_t>& state) { tier = tier_of(state.load(std::memory_order_relaxed)); });
  return tier;
}

Tier Pages::bound(const void* address) const {
  Tier tier = Tier::none;
  each_page({address, 1},
            [&](const std::atomic<std::uint8_t>& state) { tier = bound_of(state.load(std::memory_order_relaxed)); });
  return tier;
}

bool Pages::bound_to(Extent pages, Tier tier, Tier usual) const {
  bool all = true;
  each_page(pages, [&](const std::atomic<std::uint8_t>& state) {
    const Tier apart = bound_of(state.load(std::memory_order_relaxed));
    all &= (apart == Tier::none ? usual : apart) == tier;
  });
  return all;
}

void Pages::set_bound(Extent pages, Tier tier) {
  each_page(pages, [&](std::atomic<std::uint8_t>& state) {
    std::uint8_t seen = state.load(std::memory_order_relaxed);
    const auto bits = static_cast<std::uint8_t>(static_cast<unsigned>(tier) << kBoundShift);
    while (!state.compare_exchange_weak(seen, static_cast<std::uint8_t>((seen & ~kBoundBits) | bits),
                                        std::memory_order_relaxed)) {
    }
  });
}

Extent Pages::next_run(Extent pages, Tier tier) const {
  std::uintptr_t page = page_down(pages.begin());
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  each_page(pages, [&](const std::atomic<std::uint8_t>& state) {
    const bool here = tier_of(state.load(std::memory_order_relaxed)) == tier;
    if (here && begin == 0) begin = page;
    if (!here && begin != 0 && end == 0) end = page;
    page += kPage;
  });
  if (begin == 0) return {};
  return extent(begin, end != 0 ? end : page);
}

}  // namespace hearth::tier
