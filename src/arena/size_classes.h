// Size classes: 8 per doubling, in pages: 1..16 one by one, 18, 20, .. 32, 36, .. so rounding up wastes at most 1/8.
// Pure functions.
#pragma once

#include <bit>
#include <cstdint>

namespace hearth::arena::size_class {

constexpr unsigned kCount = 240;  // sizes of 32 bits

// The largest class of at most `pages` pages; pages > 0.
constexpr unsigned below(std::uint32_t pages) {
  unsigned doubling = static_cast<unsigned>(std::bit_width(pages)) - 1;
  return doubling < 3 ? pages - 1 : (doubling - 3) * 8 + ((pages >> (doubling - 3)) & 7) + 7;
}

constexpr std::uint64_t pages_of(unsigned size_class) {
  return size_class < 8 ? size_class + 1 : std::uint64_t{8 + (size_class - 7) % 8} << ((size_class - 7) / 8);
}

// The smallest class of at least `pages` pages.
constexpr unsigned above(std::uint32_t pages) {
  unsigned candidate = below(pages);
  return pages_of(candidate) < pages ? candidate + 1 : candidate;
}

}  // namespace hearth::arena::size_class
