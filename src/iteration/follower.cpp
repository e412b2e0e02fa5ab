#include "iteration/follower.h"

#include <bit>

#include "iteration/signature.h"
#include "platform/os_memory.h"

namespace hearth::iteration {
namespace {

constexpr std::uint32_t kLongestChain = 512;  // places with the same three sizes that are looked at

std::uint64_t key_of(std::uint64_t older, std::uint64_t old, std::uint64_t newest) {
  return rolled(rolled(rolled(0, older), old), newest);
}

}  // namespace

bool Follower::load(std::span<const std::uint64_t> sizes) {
  if (sizes.empty() || sizes.size() >= kLost / 4) return false;
  const auto count = static_cast<std::uint32_t>(sizes.size());
  const std::uint64_t capacity = std::bit_ceil(std::uint64_t{2} * count + 1);
  const std::size_t page = os::page_size();
  const std::size_t wanted = capacity * sizeof(Place) + count * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  bytes_ = (wanted + page - 1) & ~(page - 1);
  memory_ = os::reserve(bytes_, page);
  if (memory_ == nullptr || os::commit(memory_, bytes_) != 0) {
    unload();
    return false;
  }
  places_ = static_cast<Place*>(memory_);
  sizes_ = reinterpret_cast<std::uint64_t*>(places_ + capacity);
  same_ = reinterpret_cast<std::uint32_t*>(sizes_ + count);
  mask_ = capacity - 1;
  count_ = count;
  cursor_ = 0;
  recent_cursor_ = kLost;
  for (std::uint32_t i = 0; i < count; ++i) sizes_[i] = sizes[i];
  for (std::uint32_t i = count; i-- > 0;) {
    const std::uint64_t key = key_of(before(i, 2), before(i, 1), sizes_[i]);
    std::uint64_t at = key & mask_;
    while (places_[at].used && places_[at].key != key) at = (at + 1) & mask_;
    same_[i] = places_[at].used ? places_[at].first : kLost;
    places_[at] = {key, i, true};
  }
  return true;
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

// The next place after the cursor whose size, and the two before it, hash to `key`; round the end if need be.
std::uint32_t Follower::find(std::uint64_t key) const {
  std::uint64_t at = key & mask_;
  while (places_[at].used && places_[at].key != key) at = (at + 1) & mask_;
  if (!places_[at].used) return kLost;
  std::uint32_t chain = 0;
  for (std::uint32_t i = places_[at].first; i != kLost && chain < kLongestChain; i = same_[i], ++chain) {
    if (i > cursor_) return i;
  }
  return places_[at].first;
}

std::uint32_t Follower::take_over(const std::uint64_t* wanted) {
  const std::uint32_t found = find(key_of(wanted[0], wanted[1], wanted[2]));
  if (found != kLost) advance(found);
  return found;
}

std::uint32_t Follower::search(std::uint64_t bytes) {
  ++missed_;
  if (recent_cursor_ != cursor_) {
    recent_[1] = before(cursor_, 2);
    recent_[2] = before(cursor_, 1);
  }
  recent_[0] = recent_[1];
  recent_[1] = recent_[2];
  recent_[2] = bytes;
  recent_cursor_ = cursor_;
  const std::uint32_t found = find(key_of(recent_[0], recent_[1], recent_[2]));
  if (found == kLost) return kLost;
  ++resyncs_;
  if (found < cursor_) ++rounds_;
  advance(found);
  return found;
}

}  // namespace hearth::iteration
