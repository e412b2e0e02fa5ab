#include "iteration/follower.h"

#include <algorithm>
#include <bit>

#include "iteration/signature.h"
#include "platform/os_memory.h"

namespace hearth::iteration {
namespace {

std::uint64_t key_of(std::uint64_t older, std::uint64_t old, std::uint64_t newest) {
  return rolled(rolled(rolled(0, older), old), newest);
}

}  // namespace

bool Follower::load(std::span<const std::uint64_t> sizes, std::uint32_t empty_shift) {
  empty_shift_ = empty_shift;
  static constexpr std::uint64_t kNoSize[] = {~std::uint64_t{0}};
  if (sizes.empty()) sizes = kNoSize;
  if (sizes.size() >= kLost / 4) return false;
  const auto count = static_cast<std::uint32_t>(sizes.size());
  const std::uint64_t capacity = std::bit_ceil(std::uint64_t{2} * count + 1);
  const std::size_t page = os::page_size();
  const std::size_t wanted = capacity * sizeof(Group) + count * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  bytes_ = (wanted + page - 1) & ~(page - 1);
  memory_ = os::reserve(bytes_, page);
  if (memory_ == nullptr || os::commit(memory_, bytes_) != 0) {
    unload();
    return false;
  }
  groups_ = static_cast<Group*>(memory_);
  sizes_ = reinterpret_cast<std::uint64_t*>(groups_ + capacity);
  grouped_ = reinterpret_cast<std::uint32_t*>(sizes_ + count);
  mask_ = capacity - 1;
  count_ = count;
  restart();
  std::copy(sizes.begin(), sizes.end(), sizes_);
  group();
  return true;
}

void Follower::group() {
  const auto group_at = [&](std::uint32_t i) -> Group& {
    const std::uint64_t key = key_of(before(i, 2), before(i, 1), sizes_[i]);
    Group& group = group_of(key);
    group.key = key;
    return group;
  };
  for (std::uint32_t i = 0; i < count_; ++i) ++group_at(i).count;
  std::uint32_t filled = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    // The first place of a group reserves room for all of it.
    Group& group = group_at(i);
    if (group.first == 0) {
      group.first = filled + 1;
      filled += group.count;
      group.count = 0;
    }
    grouped_[group.first - 1 + group.count++] = i;
  }
}

void Follower::unload() {
  if (memory_ != nullptr) os::unmap(memory_, bytes_);
  memory_ = nullptr;
  sizes_ = nullptr;
  count_ = 0;
}

std::uint64_t Follower::before(std::uint32_t at, std::uint32_t steps) const {
  return sizes_[(at + std::uint64_t{count_} * steps - steps) % count_];
}

// Where the group of `key` stands in the hash table, or would.
Follower::Group& Follower::group_of(std::uint64_t key) const {
  std::uint64_t at = key & mask_;
  while (groups_[at].count != 0 && groups_[at].key != key) at = (at + 1) & mask_;
  return groups_[at];
}

// The next place from the cursor on where these three sizes, oldest first, come to an end; round the end if need be.
std::uint32_t Follower::find(const std::uint64_t* wanted) const {
  const Group& group = group_of(key_of(wanted[0], wanted[1], wanted[2]));
  if (group.count == 0) return kLost;
  const std::uint32_t* begin = grouped_ + group.first - 1;
  const std::uint32_t* next = std::lower_bound(begin, begin + group.count, cursor_);
  const std::uint32_t found = next != begin + group.count ? *next : *begin;
  // Two triples may have one hash; a place that is too small must not be given for it.
  return sizes_[found] == wanted[2] ? found : kLost;
}

bool Follower::begins_like(const Follower& other, std::uint64_t bytes) {
  const std::uint32_t at = other.cursor_;
  if (at >= count_ || !fits(at, bytes) || !std::equal(sizes_, sizes_ + at, other.sizes_)) return false;
  restart();
  cursor_ = at;
  return true;
}

std::uint32_t Follower::take_over(const std::uint64_t* wanted) {
  const std::uint32_t found = find(wanted);
  if (found == kLost) return kLost;
  std::copy_n(wanted, 3, recent_);
  advance(found);
  recent_position_ = position();
  return found;
}

// An elastic place: the first of the next few that it fits.
std::uint32_t Follower::look_ahead(std::uint64_t bytes) {
  constexpr std::uint32_t kFew = 8;
  for (std::uint32_t i = 1; i <= std::min(kFew, count_); ++i) {
    const std::uint32_t at = (cursor_ + i) % count_;
    if (!fits(at, bytes)) continue;
    ++resyncs_;
    if (at < cursor_) ++rounds_;
    advance(at);
    return at;
  }
  return kLost;
}

std::uint32_t Follower::search(std::uint64_t bytes) {
  ++missed_;
  if (empty_shift_ != kExact) return look_ahead(bytes);
  // What came in step since the last search is what the sequence has there. Without the rest, a size that happened to
  // be the expected one would hide what came before it.
  const std::uint64_t in_step = position() - recent_position_;
  recent_[0] = in_step == 0 ? recent_[1] : in_step == 1 ? recent_[2] : before(cursor_, 2);
  if (in_step == 0) {
    recent_[1] = recent_[2];
  } else {
    recent_[1] = before(cursor_, 1);
  }
  recent_[2] = bytes;
  const std::uint32_t found = find(recent_);
  if (found != kLost) {
    ++resyncs_;
    if (found < cursor_) ++rounds_;
    advance(found);
  }
  recent_position_ = position();
  return found;
}

}  // namespace hearth::iteration
