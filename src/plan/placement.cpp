#include "plan/placement.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace hearth::plan {

std::vector<std::uint64_t> live_bytes(std::span<const Arc> arcs, std::uint32_t period) {
  std::vector<std::uint64_t> live(period + 1u, 0);  // differences first, modulo 2^64
  for (const Arc& arc : arcs) {
    const std::uint64_t end = std::uint64_t{arc.start} + arc.length;
    live[arc.start] += arc.bytes;
    if (end > period) live[0] += arc.bytes;
    live[end > period ? end - period : end] -= arc.bytes;
  }
  live.pop_back();
  std::partial_sum(live.begin(), live.end(), live.begin());
  return live;
}

// Two arcs meet if one begins within the other: with d the way from the first's start to the second's, going forward,
// the second begins within the first if d < its length, and the first within the second if period - d < that length.
std::uint64_t Placement::Block::alive_with(const Arc& arc, std::uint32_t period) const {
  std::array<std::uint8_t, kBlock> meets;
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    const std::uint32_t ahead = start[i] - arc.start + (start[i] < arc.start ? period : 0);
    meets[i] = static_cast<std::uint8_t>((ahead < arc.length) | (period - ahead < length[i]));
  }
  // Eight bytes of 0 or 1 become eight bits by one multiplication: byte k comes to bit 56 + k.
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t mask = 0;
  for (std::uint32_t byte = 0; byte < kBlock; byte += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, &meets[byte], sizeof(eight));
    mask |= (eight * 0x0102040810204080u >> 56) << byte;
  }
  return count == kBlock ? mask : mask & ((1ull << count) - 1);
}

void Placement::Block::insert(std::uint32_t at, std::uint32_t which, const Arc& arc, std::uint64_t where) {
  const auto shift = [&](auto& column, auto value) {
    std::copy_backward(column.begin() + at, column.begin() + count, column.begin() + count + 1);
    column[at] = value;
  };
  shift(start, arc.start);
  shift(length, arc.length);
  shift(item, which);
  shift(offset, where);
  shift(end, where + arc.bytes);
  ++count;
  highest_end = std::max(highest_end, where + arc.bytes);
}

void Placement::Block::erase(std::uint32_t at) {
  const auto shift = [&](auto& column) {
    std::copy(column.begin() + at + 1, column.begin() + count, column.begin() + at);
  };
  shift(start);
  shift(length);
  shift(item);
  shift(offset);
  shift(end);
  --count;
  refresh();
}

void Placement::Block::refresh() {
  highest_end = 0;
  for (std::uint32_t i = 0; i < count; ++i) highest_end = std::max(highest_end, end[i]);
}

Placement::Placement(std::span<const Arc> arcs, std::uint32_t period) : arcs_(arcs), period_(period) { clear(); }

void Placement::clear() {
  free_.resize(blocks_.size());
  for (std::uint32_t i = 0; i < free_.size(); ++i) free_[i] = i;
  order_.assign(1, new_block());
}

std::uint32_t Placement::new_block() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t block = free_.back();
  free_.pop_back();
  blocks_[block].count = 0;
  blocks_[block].highest_end = 0;
  return block;
}

std::uint64_t Placement::lowest_fit(std::uint32_t item, std::uint64_t alignment) const {
  const Arc& arc = arcs_[item];
  std::uint64_t top = 0;  // free for us from here on, up to the next one alive with us
  for (const std::uint32_t number : order_) {
    const Block& block = blocks_[number];
    if (block.highest_end <= top) continue;
    for (std::uint64_t mask = block.alive_with(arc, period_); mask != 0; mask &= mask - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
      if (block.offset[i] >= top + arc.bytes) return top;
      top = std::max(top, (block.end[i] + alignment - 1) & ~(alignment - 1));
    }
  }
  return top;
}

// Place in order_ of the last block that begins at or below `offset`, or of the first one.
std::uint32_t Placement::block_for(std::uint64_t offset) const {
  const auto above = std::partition_point(order_.begin() + 1, order_.end(),
                                          [&](std::uint32_t number) { return blocks_[number].offset[0] <= offset; });
  return static_cast<std::uint32_t>(above - order_.begin()) - 1;
}

void Placement::split(std::uint32_t place) {
  const std::uint32_t upper_number = new_block();
  Block& lower = blocks_[order_[place]];
  Block& upper = blocks_[upper_number];
  upper = lower;
  const auto keep_tail = [](auto& column) { std::copy(column.begin() + kBlock / 2, column.end(), column.begin()); };
  keep_tail(upper.start);
  keep_tail(upper.length);
  keep_tail(upper.item);
  keep_tail(upper.offset);
  keep_tail(upper.end);
  lower.count = upper.count = kBlock / 2;
  lower.refresh();
  upper.refresh();
  order_.insert(order_.begin() + place + 1, upper_number);
}

void Placement::put(std::uint32_t item, std::uint64_t offset) {
  std::uint32_t place = block_for(offset);
  if (blocks_[order_[place]].count == kBlock) {
    split(place);
    place = block_for(offset);
  }
  Block& block = blocks_[order_[place]];
  const auto at = std::upper_bound(block.offset.begin(), block.offset.begin() + block.count, offset);
  block.insert(static_cast<std::uint32_t>(at - block.offset.begin()), item, arcs_[item], offset);
}

void Placement::remove(std::uint32_t item, std::uint64_t offset) {
  // Several may begin at one offset, at different times, and reach back over several blocks.
  for (std::uint32_t place = block_for(offset);; --place) {
    Block& block = blocks_[order_[place]];
    const auto found = std::find(block.item.begin(), block.item.begin() + block.count, item);
    if (found == block.item.begin() + block.count) continue;
    block.erase(static_cast<std::uint32_t>(found - block.item.begin()));
    if (block.count == 0 && order_.size() > 1) {
      free_.push_back(order_[place]);
      order_.erase(order_.begin() + place);
    }
    return;
  }
}

}  // namespace hearth::plan
