#include "scale/repeats.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "scale/align.h"

namespace hearth::scale {
namespace {

constexpr std::size_t kAgain = 3;       // so many equal ones, and both are taken to go on together after a repetition
constexpr std::size_t kSurely = 8;      // likewise, after what is none
constexpr std::size_t kPlain = 4;       // that may differ in bytes before any is equal
constexpr std::size_t kMostApart = 64;  // elements of both that may stand alone in one place

struct Inserted {
  std::size_t at = 0, length = 0;
  std::uint32_t units = 0;
};

class Reader {
 public:
  Reader(const Sequence& small, const Sequence& large, std::uint32_t steps)
      : small_(small.kinds), large_(large.kinds), small_plain_(small.plain), large_plain_(large.plain), steps_(steps) {
    found_.partners.assign(large_.size(), kAlone);
  }

  bool read() {
    while (i_ < small_.size() || j_ < large_.size()) {
      if (i_ < small_.size() && j_ < large_.size() && small_[i_] == large_[j_]) {
        found_.partners[j_++] = static_cast<std::uint32_t>(i_++);
      } else if (const Inserted next = insertion(); next.units > 0) {
        inserted_.push_back(next);
        j_ += next.length;
      } else if (differ_in_bytes()) {
        found_.partners[j_++] = static_cast<std::uint32_t>(i_++);
      } else if (!go_apart()) {
        return false;
      }
    }
    return true;
  }

  std::size_t where() const { return j_; }
  std::span<const Inserted> inserted() const { return inserted_; }
  Repeats take() { return std::move(found_); }

 private:
  // How many are equal from here on; few of them may differ in bytes.
  std::size_t together(std::size_t i, std::size_t j) const {
    std::size_t equal = 0;
    std::size_t plain = 0;
    for (; i < small_.size() && j < large_.size() && plain <= kPlain + equal / 2; ++i, ++j) {
      if (small_plain_[i] != large_plain_[j]) break;
      (small_[i] == large_[j] ? equal : plain) += 1;
    }
    return equal;
  }

  // In how many units the elements from here on repeat those before them; 0: they do not.
  std::uint32_t units_of(std::size_t length) const {
    for (std::uint32_t units = steps_; units > 0; --units) {
      if (steps_ % units != 0 || length % units != 0) continue;
      const std::size_t period = length / units;
      if (period <= j_ &&
          std::equal(large_.begin() + at(j_), large_.begin() + at(j_ + length), large_.begin() + at(j_ - period)))
        return units;
    }
    return 0;
  }

  static std::ptrdiff_t at(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }

  // The one after which both are equal for longest.
  Inserted insertion() const {
    Inserted best;
    const std::size_t left = small_.size() - i_;
    std::size_t longest = 0;
    for (std::size_t length = 1; j_ + length + left <= large_.size() + kMostApart && j_ + length <= large_.size();
         ++length) {
      const std::size_t after = together(i_, j_ + length);
      const bool ends = left == 0 && j_ + length == large_.size();
      if (after < std::min(kAgain, left) || (after <= longest && !ends)) continue;
      const std::uint32_t units = units_of(length);
      if (units == 0) continue;
      best = {j_, length, units};
      longest = after;
    }
    return best;
  }

  bool differ_in_bytes() const {
    if (i_ == small_.size() || j_ == large_.size() || small_plain_[i_] != large_plain_[j_]) return false;
    return together(i_, j_) >= std::min(kAgain, small_.size() - i_ - 1);
  }

  // Passes over as few as can be that have no partner; false if there are too many.
  bool go_apart() {
    for (std::size_t both = 1; both <= kMostApart; ++both) {
      for (std::size_t of_small = 0; of_small <= both; ++of_small) {
        const std::size_t i = i_ + of_small;
        const std::size_t j = j_ + both - of_small;
        if (i > small_.size() || j > large_.size()) continue;
        const bool end = i == small_.size() && j == large_.size();
        if (!end && together(i, j) < kSurely) continue;
        for (; i_ < i; ++i_) found_.alone.push_back(static_cast<std::uint32_t>(i_));
        found_.large_alone += j - j_;
        j_ = j;
        return true;
      }
    }
    return false;
  }

  std::span<const std::uint64_t> small_, large_, small_plain_, large_plain_;
  std::uint32_t steps_;
  std::size_t i_ = 0, j_ = 0;
  std::vector<Inserted> inserted_;
  Repeats found_;
};

// As far to both sides as the period holds.
Stretch stretch_of(std::span<const std::uint64_t> large, const Inserted& inserted, std::uint32_t units,
                   std::size_t not_before) {
  const std::size_t period = inserted.length / units;
  std::size_t begin = std::max(inserted.at, not_before);
  while (begin > not_before && large[begin - 1] == large[begin - 1 + period]) --begin;
  std::size_t end = inserted.at + inserted.length;
  while (end < large.size() && large[end] == large[end - period]) ++end;
  end = std::max(end, begin);
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(period),
          static_cast<std::uint32_t>((end - begin) / period)};
}

// Which of equal units were inserted is anyone's choice: the first ones, so that what is after the stretch has a
// partner.
void slide(std::vector<std::uint32_t>& partners, const Inserted& inserted, std::size_t begin) {
  const auto from = partners.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto gap = partners.begin() + static_cast<std::ptrdiff_t>(inserted.at);
  const auto length = static_cast<std::ptrdiff_t>(inserted.length);
  if (from >= gap) return;
  std::move_backward(from, gap, gap + length);
  std::fill(from, from + length, kAlone);
}

}  // namespace

Result<Repeats> find_repeats(const Sequence& small, const Sequence& large, std::uint32_t steps) {
  Reader reader(small, large, steps);
  if (!reader.read()) {
    return Error{
        "the two traces do not match: after " + std::to_string(reader.where()) +
        " events of the deeper one (faults and what is alive before not counted) they go apart, and it does not repeat "
        "what it had before; trace the same program at two depths, each with more layers than these"};
  }
  if (reader.inserted().empty()) return Error{"the deeper trace has no layer more than the other one"};
  std::uint32_t units = steps;
  for (const Inserted& inserted : reader.inserted()) units = std::gcd(units, inserted.units);
  Repeats found = reader.take();
  found.inserted_units = units;
  std::size_t before = 0;
  for (const Inserted& inserted : reader.inserted()) {
    const Stretch stretch = stretch_of(large.kinds, inserted, units, before);
    slide(found.partners, inserted, stretch.begin);
    before = stretch.end();
    found.stretches.push_back(stretch);
  }
  return found;
}

}  // namespace hearth::scale
