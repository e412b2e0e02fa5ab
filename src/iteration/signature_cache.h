// SignatureCache: how often each kind of iteration was seen, bounded.
//
// The least recently seen signature makes room, except that the most frequent one always stays: an evaluation pass
// over a hundred shapes must not forget the training step.
//
// Called by the detector when an iteration closes, on the thread that runs the loop. Memory is the caller's; no lock,
// no allocation; a linear scan, since an iteration takes milliseconds and the cache has some dozen entries.
#pragma once

#include <cstdint>

#include "iteration/signature.h"

namespace hearth::iteration {

class SignatureCache {
 public:
  struct Entry {
    Signature signature{};
    std::uint64_t last_seen = 0;
    std::uint32_t times_seen = 0;
  };

  constexpr SignatureCache() = default;
  // `entries` is zeroed memory that outlives the cache.
  void attach(Entry* entries, std::uint32_t capacity) {
    entries_ = entries;
    capacity_ = capacity;
  }

  // Counts a sighting and returns how often the signature has been seen since it last entered the cache. A signature
  // without ops (marks are off) is the cached one with the same allocations, and is completed from it.
  std::uint32_t count(Signature* signature);
  void clear() { size_ = 0; }
  std::uint32_t size() const { return size_; }
  const Entry& entry(std::uint32_t index) const { return entries_[index]; }

 private:
  Entry* find(const Signature& signature);
  Entry* place_for_another();

  Entry* entries_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t size_ = 0;
  std::uint64_t sightings_ = 0;
};

}  // namespace hearth::iteration
