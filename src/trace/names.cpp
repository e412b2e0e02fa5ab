#include "trace/names.h"

#include <bit>
#include <cstring>

#include "platform/os_memory.h"

namespace hearth::trace {

namespace {

constexpr unsigned kLengthBits = 16;
constexpr std::uint32_t kMaxNames = 1u << 24;
constexpr std::uint64_t kHashMask = ~std::uint64_t{0xffffffff};

// FNV-1a, with a last mix: its low bits alone are poor.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  return (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
}

}  // namespace

bool NameTable::init(std::uint32_t max_names, std::size_t max_bytes) {
  if (ready_.load(std::memory_order_acquire)) {
    return true;
  }
  max_names_ = max_names < kMaxNames ? max_names : kMaxNames;
  max_bytes_ = max_bytes;
  std::uint32_t buckets = std::bit_ceil(max_names_ * 2 + 2);  // at most half full: every probe ends
  bucket_mask_ = buckets - 1;
  places_ = static_cast<Place*>(os::map_zeroed((std::size_t{max_names_} + 2) * sizeof(Place)));
  buckets_ = static_cast<Bucket*>(os::map_zeroed(buckets * sizeof(Bucket)));
  bytes_ = static_cast<char*>(os::map_zeroed(max_bytes + 1));
  bool made = places_ != nullptr && buckets_ != nullptr && bytes_ != nullptr;
  ready_.store(made, std::memory_order_release);
  return made;
}

NameId NameTable::intern(std::string_view text) {
  if (!ready_.load(std::memory_order_acquire)) {
    return {};
  }
  text = text.substr(0, kMaxLength);
  const std::uint64_t hash = hash_of(text);
  std::uint64_t mine = 0;
  for (;;) {
    // The count is read before the look-up: if the text was added in between, it or another name has taken place `id`,
    // and the attempt below meets it there instead of adding the text twice.
    const std::uint32_t id = count_.load(std::memory_order_acquire) + 1;
    NameId known = find(text, hash);
    if (known) {
      return known;
    }
    if (id > max_names_) {
      return {};
    }
    std::uint64_t place = places_[id].load(std::memory_order_acquire);
    if (place == 0) {
      mine = mine != 0 ? mine : store(text);
      if (mine == 0) {
        return {};
      }
      if (places_[id].compare_exchange_strong(place, mine, std::memory_order_acq_rel)) {
        place = mine;
      }
    }
    complete(id, place);  // this name or the one that was faster; then look again
  }
}

// Puts name `id` into the hash and counts it; does nothing if somebody has. Names are completed in the order of their
// ids, so nothing else is being inserted meanwhile and all who complete `id` meet at the same bucket.
void NameTable::complete(std::uint32_t id, std::uint64_t place) {
  const std::uint64_t hash = hash_of(text_at(place));
  const std::uint64_t bucket = (hash & kHashMask) | id;
  for (std::uint32_t i = static_cast<std::uint32_t>(hash) & bucket_mask_;; i = (i + 1) & bucket_mask_) {
    std::uint64_t seen = buckets_[i].load(std::memory_order_acquire);
    if (seen == bucket || (seen == 0 && buckets_[i].compare_exchange_strong(seen, bucket, std::memory_order_acq_rel)) ||
        seen == bucket) {
      break;
    }
  }
  std::uint32_t before = id - 1;
  count_.compare_exchange_strong(before, id, std::memory_order_acq_rel);
}

NameId NameTable::find(std::string_view text, std::uint64_t hash) const {
  for (std::uint32_t i = static_cast<std::uint32_t>(hash) & bucket_mask_;; i = (i + 1) & bucket_mask_) {
    std::uint64_t seen = buckets_[i].load(std::memory_order_acquire);
    if (seen == 0) {
      return {};
    }
    NameId id{static_cast<std::uint32_t>(seen)};
    if ((seen & kHashMask) == (hash & kHashMask) &&
        text_at(places_[id.value].load(std::memory_order_acquire)) == text) {
      return id;
    }
  }
}

// Copies the text; its place, or 0 when there is no room. A text that loses the race for its id stays unused.
std::uint64_t NameTable::store(std::string_view text) {
  std::size_t offset = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (offset + text.size() + 1 > max_bytes_ + 1) {
      return 0;
    }
  } while (!used_bytes_.compare_exchange_weak(offset, offset + text.size() + 1, std::memory_order_relaxed));
  if (!text.empty()) {
    std::memcpy(bytes_ + offset, text.data(), text.size());
  }
  return std::uint64_t{offset} << kLengthBits | text.size();
}

std::string_view NameTable::text_at(std::uint64_t place) const {
  return {bytes_ + (place >> kLengthBits), static_cast<std::size_t>(place & kMaxLength)};
}

std::string_view NameTable::text(NameId id) const {
  return id.value != 0 && id.value <= count() ? text_at(places_[id.value].load(std::memory_order_acquire))
                                              : std::string_view("");
}

std::uint32_t NameTable::count() const { return count_.load(std::memory_order_acquire); }

}  // namespace hearth::trace
