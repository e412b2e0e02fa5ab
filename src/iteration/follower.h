// Follower: which allocation of the planned sequence is the program's present one, told by sizes alone.
//
// In step, that is one comparison. A size that does not come next is looked up together with the two before it: after
// skipped ops the third allocation is in step again, and an extra tensor costs itself only. Repeated layers repeat
// their sizes; of several places the next one after the present is taken. A wrong guess costs the caller memory or a
// look at the heap (arena::Layout checks every slot), never correctness. Where sizes vary (plan/elastic.h) no three of
// them are ever the same, and the next few places are looked at instead. So op marks can be switched off while a plan
// is followed: an empty callback pair of PyTorch alone costs 100 to 250 ns per op.
//
// Thread-safety: none; fed by the one thread that runs the loop. next() neither locks nor allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::iteration {

class Follower {
 public:
  static constexpr std::uint32_t kLost = 0xffffffffu;

  constexpr Follower() = default;

  // The sizes of one iteration's allocations, in order; cyclic. None: every allocation is lost. False if the system
  // refuses memory. `empty_shift`: an allocation may be smaller than the size by size >> empty_shift.
  static constexpr std::uint32_t kExact = 63;
  bool load(std::span<const std::uint64_t> sizes, std::uint32_t empty_shift = kExact);
  void unload();

  // An allocation of `bytes`: its index in the sequence, or kLost.
  std::uint32_t next(std::uint64_t bytes) {
    const std::uint32_t at = cursor_;
    if (!fits(at, bytes)) [[unlikely]] {
      return search(bytes);
    }
    advance(at);
    return at;
  }
  bool expects(std::uint64_t bytes) const { return fits(cursor_, bytes); }
  std::uint64_t bytes_of(std::uint32_t at) const { return sizes_[at]; }
  // Could the iteration be this one, which has been in step with `other` until now, when `bytes` are asked for? If so,
  // goes to the same place.
  bool begins_like(const Follower& other, std::uint64_t bytes);
  // A new iteration begins, whatever came before.
  void restart() {
    cursor_ = 0;
    recent_position_ = kNever;
  }

  // The last three sizes that were looked for, oldest first: for another follower's take_over().
  const std::uint64_t* wanted() const { return recent_; }
  // After a miss of another follower: is that place in this sequence? If so, goes on behind it.
  std::uint32_t take_over(const std::uint64_t* wanted);

  // In [0, size()): what is expected next.
  std::uint32_t cursor() const { return cursor_; }
  std::uint32_t size() const { return count_; }
  // How often the sequence has come to its end, restarts not counted.
  std::uint64_t rounds() const { return rounds_; }
  std::uint64_t missed() const { return missed_; }    // allocations that were not the expected one
  std::uint64_t resyncs() const { return resyncs_; }  // of them, those found elsewhere in the sequence

 private:
  bool fits(std::uint32_t at, std::uint64_t bytes) const {
    return sizes_[at] - bytes <= sizes_[at] >> empty_shift_;  // more than the size: a huge difference
  }
  void advance(std::uint32_t at) {
    cursor_ = at + 1;
    if (cursor_ == count_) {
      cursor_ = 0;
      ++rounds_;
    }
  }
  void group();
  std::uint32_t search(std::uint64_t bytes);
  std::uint32_t look_ahead(std::uint64_t bytes);
  std::uint64_t before(std::uint32_t at, std::uint32_t steps) const;
  std::uint32_t find(const std::uint64_t* wanted) const;
  std::uint64_t position() const { return rounds_ * count_ + cursor_; }

  struct Group {  // places with the same three sizes
    std::uint64_t key = 0;
    std::uint32_t first = 0;  // one more than where it begins in grouped_
    std::uint32_t count = 0;  // 0: empty
  };
  Group& group_of(std::uint64_t key) const;

  static constexpr std::uint64_t kNever = std::uint64_t{1} << 63;

  std::uint64_t* sizes_ = nullptr;
  std::uint32_t cursor_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t empty_shift_ = kExact;
  std::uint64_t rounds_ = 0;

  std::uint64_t recent_[3] = {};            // the last sizes at the last search, oldest first
  std::uint64_t recent_position_ = kNever;  // position() after it; what came since came in step
  std::uint64_t missed_ = 0;
  std::uint64_t resyncs_ = 0;
  std::uint32_t* grouped_ = nullptr;  // the places, by group, ascending
  Group* groups_ = nullptr;           // hash table
  std::uint64_t mask_ = 0;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hearth::iteration
