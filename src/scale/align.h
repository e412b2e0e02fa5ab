// align: which elements of two sequences belong together, so that as few as can be stay alone (Myers, "An O(ND)
// difference algorithm and its variations", Algorithmica 1986).
//
// Pure; allocates 4 bytes for each edit squared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hearth::scale {

constexpr std::uint32_t kAlone = 0xffffffffu;

// Of each element of b the place of its partner in a, or kAlone; pairs are equal and in order. Nothing if more than
// `limit` elements of both together would stay alone.
std::optional<std::vector<std::uint32_t>> align(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                                                std::uint32_t limit);

}  // namespace hearth::scale
