// What a knob can be: its kind, the C++ type that holds it, and the row that describes it.
//
// Included by everything that reads or shows knobs, from any thread. Plain data: no lock, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth::config {

enum class ProfileMode : std::uint8_t { off, ops, faults, pages };
enum class PerfMode : std::uint8_t { off, automatic, faults, precise };
enum class TierMode : std::uint8_t { automatic, numa, emulated, single };
enum class PolicyName : std::uint8_t { sentinel, first_touch, interleave, lru, tier_queue, all_fast, all_slow };
// Where a value came from; a higher one wins.
enum class Origin : std::uint8_t { built_in, system_file, user_file, environment };

enum class Kind : std::uint8_t {
  boolean,
  integer,
  count,    // a number of things; K, M, G and T multiply by powers of 1024
  size,     // bytes; likewise
  share,    // bytes as for size, or a percentage (kPercentFlag)
  weights,  // of fast and slow, N:M, or N for a percentage (Weights)
  choice,   // stored as the position of the word in the row's `range`
  path,     // %p = process id, %h = host name, %% = % (expand_path); empty = none. Words in `range` are no files
  text,     // anything
};

// How a share is stored: bytes, or hundredths of a percent with the highest bit set.
constexpr std::uint64_t kPercentFlag = std::uint64_t{1} << 63;
constexpr bool is_percentage(std::uint64_t share) { return (share & kPercentFlag) != 0; }
// `whole` is what the percentage is of.
constexpr std::uint64_t share_bytes(std::uint64_t share, std::uint64_t whole) {
  if (!is_percentage(share)) return share;
  const std::uint64_t hundredths = share & ~kPercentFlag;
  return whole / 10'000 * hundredths + whole % 10'000 * hundredths / 10'000;
}

// How weights are stored: 32 bits each. A percentage N is N:100-N.
struct Weights {
  std::uint64_t fast = 0, slow = 0;
  static constexpr std::uint64_t kMost = 1000;
  static constexpr Weights of(std::uint64_t stored) { return {stored >> 32, stored & 0xffffffff}; }
  constexpr std::uint64_t stored() const { return fast << 32 | slow; }
};

// PATH_MAX, so that no path that the kernel takes is refused.
constexpr std::size_t kPathCapacity = 4096;

struct PathText {
  char text[kPathCapacity];
  constexpr bool empty() const { return text[0] == '\0'; }
  constexpr const char* c_str() const { return text; }
};

// Third column of the table: the kind and the member's type.
template <Kind kind_, class Value_>
struct KnobType {
  static constexpr Kind kind = kind_;
  using Value = Value_;
};
using Bool = KnobType<Kind::boolean, bool>;
using Integer = KnobType<Kind::integer, std::uint64_t>;
using Count = KnobType<Kind::count, std::uint64_t>;
using Size = KnobType<Kind::size, std::uint64_t>;
using Share = KnobType<Kind::share, std::uint64_t>;
using Ratio = KnobType<Kind::weights, std::uint64_t>;
using Path = KnobType<Kind::path, PathText>;
using Text = KnobType<Kind::text, PathText>;
template <class Enum>
using Choice = KnobType<Kind::choice, Enum>;

struct KnobRow {
  std::string_view name;  // "HEARTH_MIN_SIZE"
  Kind kind;
  std::string_view default_text;  // in the syntax that the user would type
  std::string_view range;         // "low..high", or words joined by '|', else ""
  std::string_view help;
  std::size_t offset;  // of its member in Knobs
};

}  // namespace hearth::config
