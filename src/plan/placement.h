// Placement: items in the plane of cyclic time and addresses, and the lowest address at which another one fits among
// those that are alive with it. The core of pack(); knows no orders and no search.
//
// Not thread-safe. Memory is taken in the constructor and by put(); throws only std::bad_alloc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace hearth::plan {

// A lifetime on the ring of `period` places: [start, start + length), modulo the period. 1 <= length <= period.
struct Arc {
  std::uint64_t bytes = 0;
  std::uint32_t start = 0;
  std::uint32_t length = 0;
};

// Bytes alive at each place.
std::vector<std::uint64_t> live_bytes(std::span<const Arc> arcs, std::uint32_t period);

class Placement {
 public:
  Placement(std::span<const Arc> arcs, std::uint32_t period);

  // Takes everything out.
  void clear();

  // Lowest multiple of `alignment` (a power of two) where arc `item` fits among what has been put.
  std::uint64_t lowest_fit(std::uint32_t item, std::uint64_t alignment) const;

  void put(std::uint32_t item, std::uint64_t offset);

  // Takes out what was put at `offset` as `item`.
  void remove(std::uint32_t item, std::uint64_t offset);

 private:
  static constexpr std::uint32_t kBlock = 64;  // one bit each of the mask of those alive together

  // What has been put, in order of offset, cut into blocks: inserting moves one block's items at most, and the test
  // for being alive together runs over plain arrays, which compilers vectorise.
  struct Block {
    std::array<std::uint32_t, kBlock> start, length, item;
    std::array<std::uint64_t, kBlock> offset, end;
    std::uint64_t highest_end;
    std::uint32_t count;

    std::uint64_t alive_with(const Arc& arc, std::uint32_t period) const;
    void insert(std::uint32_t at, std::uint32_t which, const Arc& arc, std::uint64_t where);
    void erase(std::uint32_t at);
    void refresh();
  };

  std::uint32_t block_for(std::uint64_t offset) const;
  std::uint32_t new_block();
  void split(std::uint32_t place);

  std::span<const Arc> arcs_;
  std::uint32_t period_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> order_;  // of blocks, by offset
  std::vector<std::uint32_t> free_;   // blocks in no order
};

}  // namespace hearth::plan
