// Repeats: where a sequence goes on repeating what another one of the same program has fewer times.
//
// The larger one is gone through beside the smaller one. Where they part, the larger one goes on with what it has just
// had; what it inserts there, and all around it that has the same period, is a stretch. Layers make one in the forward
// pass, one in the backward pass, one in each list of operands ... Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace hearth::scale {

// What elements are; plain: where they may differ in bytes, as what is gathered from all layers does.
struct Sequence {
  std::span<const std::uint64_t> kinds, plain;
};

// Units of `period` elements, one like the other, from `begin` on.
struct Stretch {
  std::uint32_t begin = 0, period = 0, units = 0;
  std::uint32_t end() const { return begin + period * units; }
};

struct Repeats {
  std::vector<Stretch> stretches;       // of the larger sequence, in order, apart from each other
  std::vector<std::uint32_t> partners;  // of each element of the larger one: the smaller one's, or kAlone (align.h)
  std::vector<std::uint32_t> alone;     // elements of the smaller one without partner
  std::uint64_t large_alone = 0;        // of the larger one, outside what it inserts
  std::uint32_t inserted_units = 0;     // that it has more, of every stretch
};

// `steps` is by how many layers they differ: each stretch has one unit for one of them, or for several where they are
// not alike. An error, in one sentence, where what one has more is no repetition.
Result<Repeats> find_repeats(const Sequence& small, const Sequence& large, std::uint32_t steps);

}  // namespace hearth::scale
