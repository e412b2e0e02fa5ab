#include "arena/packed_arena.h"

#include <algorithm>

#include "platform/os_memory.h"

namespace hearth::arena {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{2} << 20;

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

bool PackedArena::init(std::uint64_t height) {
  const std::uint64_t least = rounded_up(height + 1, kHuge);
  if (least < height) return false;
  const bool roomy = least < os::address_space_left() / 32;
  const std::uint64_t wanted = roomy ? least * 4 : least;  // other shapes of the same loop differ by less
  void* range = os::reserve(wanted, kHuge);
  if (range == nullptr) return false;
  reserved_ = wanted;
  base_ = reinterpret_cast<std::uintptr_t>(range);
  return true;
}

std::uint32_t PackedArena::add(std::span<const Place> places) {
  const std::uint32_t number = count_.load(std::memory_order_relaxed);
  if (!ready() || number == kLayouts) return kNone;
  Layout& layout = layouts_[number];
  if (!layout.load(places)) return kNone;
  // One page more than is planned, since vectorised loops read a little beyond the last tensor's end.
  const std::uint64_t needed = rounded_up(layout.height() + 1, os::page_size());
  auto* from = reinterpret_cast<void*>(base_ + height_);
  const bool fits = needed <= reserved_ && (needed <= height_ || os::commit(from, needed - height_) == 0);
  if (!fits) {
    layout.unload();
    return kNone;
  }
  height_ = std::max(height_, needed);
  // The last, broken 2 MiB stay small pages: nothing resident that nobody planned.
  if (height_ >= kHuge) os::advise_huge(reinterpret_cast<void*>(base_), height_ / kHuge * kHuge);
  count_.store(number + 1, std::memory_order_release);
  return number;
}

void PackedArena::select(std::uint32_t layout) {
  const std::uint32_t former = current();
  if (former == layout) return;
  if (!layouts_[former].empty()) lingering_ |= 1u << former;
  lingering_ &= ~(1u << layout);
  current_.store(layout, std::memory_order_release);
}

void PackedArena::settle() {
  for (std::uint32_t i = 0; lingering_ != 0 && i < kLayouts; ++i) {
    if ((lingering_ >> i & 1) != 0 && layouts_[i].empty()) lingering_ &= ~(1u << i);
  }
}

// Does a tensor of another layout lie where the entry is to lie?
bool PackedArena::beside_lingering(std::uint32_t entry) const {
  const Layout& layout = layouts_[current()];
  if (!layout.planned(entry)) return false;
  const Layout::Taken wanted = layout.extent(entry);
  for (std::uint32_t i = 0; i < kLayouts; ++i) {
    if ((lingering_ >> i & 1) != 0 && layouts_[i].any_taken(wanted.begin, wanted.end)) return true;
  }
  return false;
}

std::uint64_t PackedArena::free_elsewhere(std::uint64_t offset) {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (const std::uint64_t bytes = layouts_[i].free(offset); bytes != 0) return bytes;
  }
  return 0;
}

PackedArena::Begun PackedArena::begun_at(const void* pointer) const {
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(pointer) - base_;
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t entry = layouts_[i].taken_by(offset);
    if (entry == Layout::kNobody) continue;
    const Layout::Taken taken = layouts_[i].extent(entry);
    return {taken.end - taken.begin, i == current() ? entry : kNone};
  }
  return {};
}

PackedArena::Tenant PackedArena::tenant(const void* pointer) const {
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(pointer) - base_;
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Layout::Taken taken = layouts_[i].tenant(offset);
    if (taken.end != 0) return {reinterpret_cast<const void*>(base_ + taken.begin), taken.end - taken.begin};
  }
  return {};
}

bool PackedArena::empty() const {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  return std::all_of(layouts_, layouts_ + count, [](const Layout& layout) { return layout.empty(); });
}

void PackedArena::give_back(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end || os::discard(reinterpret_cast<void*>(base_ + begin), end - begin) != 0) return;
  if (books_ != nullptr) books_->vacate(tier::extent(base_ + begin, base_ + end));
}

void PackedArena::discard() { give_back(0, height_); }

// Of what is taken and does not end before `from`, what begins first; {0, 0} if there is nothing.
Layout::Taken PackedArena::next_taken(std::uint64_t from) const {
  Layout::Taken next;
  for (std::uint32_t i = 0; i < layouts(); ++i) {
    const Layout::Taken here = layouts_[i].next_taken(from);
    if (here.end != 0 && (next.end == 0 || here.begin < next.begin)) next = here;
  }
  return next;
}

void PackedArena::discard_free() {
  const std::uint64_t page = os::page_size();
  for (std::uint64_t from = 0; from < height_;) {
    const Layout::Taken next = next_taken(from);
    const std::uint64_t begin = rounded_up(from, page);
    const std::uint64_t end = next.end != 0 ? next.begin / page * page : height_;
    give_back(begin, end);
    from = next.end != 0 ? next.end : height_;
  }
}

}  // namespace hearth::arena
