#include "scale/align.h"

#include <algorithm>
#include <utility>

namespace hearth::scale {
namespace {

// How far into `a` one gets on each diagonal (place in a less place in b) with so many edits: diagonals -d, -d+2 .. d.
using Reach = std::vector<std::int64_t>;

class Aligner {
 public:
  Aligner(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) : a_(a), b_(b) {}

  bool reaches_both_ends(std::uint32_t limit) {
    const std::int64_t end = std::ssize(a_) - std::ssize(b_);
    for (std::int64_t edits = 0; edits <= limit; ++edits) {
      Reach reach;
      reach.reserve(static_cast<std::size_t>(edits) + 1);
      bool there = false;
      for (std::int64_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
        reach.push_back(run(edits == 0 ? 0 : start(edits, diagonal), diagonal));
        there = there || (diagonal == end && reach.back() == std::ssize(a_));
      }
      reaches_.push_back(std::move(reach));
      if (there) return true;
    }
    return false;
  }

  // From both ends back, along the way that reached them.
  std::vector<std::uint32_t> partners() const {
    std::vector<std::uint32_t> of(b_.size(), kAlone);
    std::int64_t at = std::ssize(a_);
    std::int64_t diagonal = at - std::ssize(b_);
    for (std::int64_t edits = std::ssize(reaches_) - 1; edits >= 0; --edits) {
      const std::int64_t begin = edits == 0 ? 0 : start(edits, diagonal);
      for (; at > begin; --at) of[static_cast<std::size_t>(at - diagonal - 1)] = static_cast<std::uint32_t>(at - 1);
      if (edits == 0) break;
      const bool skips_b = from_above(edits, diagonal);
      diagonal += skips_b ? 1 : -1;
      at = skips_b ? begin : begin - 1;
    }
    return of;
  }

 private:
  std::int64_t reached(std::int64_t edits, std::int64_t diagonal) const {
    const Reach& reach = reaches_[static_cast<std::size_t>(edits)];
    const std::int64_t place = (diagonal + edits) / 2;
    return place < 0 || place >= std::ssize(reach) ? -1 : reach[static_cast<std::size_t>(place)];
  }

  // Does the edit that leads here pass over an element of b, which keeps the place in a?
  bool from_above(std::int64_t edits, std::int64_t diagonal) const {
    if (diagonal == -edits) return true;
    return diagonal != edits && reached(edits - 1, diagonal - 1) < reached(edits - 1, diagonal + 1);
  }

  std::int64_t start(std::int64_t edits, std::int64_t diagonal) const {
    return from_above(edits, diagonal) ? reached(edits - 1, diagonal + 1) : reached(edits - 1, diagonal - 1) + 1;
  }

  std::int64_t run(std::int64_t at, std::int64_t diagonal) const {
    const auto equal = [&](std::int64_t i) {
      const std::int64_t j = i - diagonal;
      return i < std::ssize(a_) && j >= 0 && j < std::ssize(b_) &&
             a_[static_cast<std::size_t>(i)] == b_[static_cast<std::size_t>(j)];
    };
    while (equal(at)) ++at;
    return at;
  }

  std::span<const std::uint64_t> a_, b_;
  std::vector<Reach> reaches_;  // by edits
};

}  // namespace

std::optional<std::vector<std::uint32_t>> align(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                                                std::uint32_t limit) {
  Aligner aligner(a, b);
  if (!aligner.reaches_both_ends(limit)) return std::nullopt;
  return aligner.partners();
}

}  // namespace hearth::scale
