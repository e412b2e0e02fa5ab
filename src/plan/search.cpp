#include "plan/search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/plan.h"
#include "plan/skyline.h"

namespace hearth::plan {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// Failures in a row after which a fresh start does better than going on; measured on the workloads' traces.
constexpr std::uint32_t kPatience = 1500;

class Search {
 public:
  Search(std::span<const Arc> arcs, std::uint32_t period, const SearchLimits& limits)
      : arcs_(arcs), period_(period), limits_(limits), placement_(arcs, period), offsets_(arcs.size()) {}

  Found run();

 private:
  bool done();
  bool fill(std::uint64_t limit);
  void try_order();
  void try_sorted(const std::vector<double>& values);
  void try_skyline(const std::vector<double>& values);
  void try_starts();
  std::vector<double> busiest() const;
  std::vector<double> weighed(unsigned quarters, double noise);
  void promote();
  bool improve(std::uint64_t limit);
  double random();

  std::span<const Arc> arcs_;
  std::uint32_t period_;
  SearchLimits limits_;
  Placement placement_;
  std::vector<std::uint32_t> order_;
  std::size_t placed_ = 0;  // that many of order_ are in placement_
  std::vector<std::uint64_t> offsets_;
  std::uint64_t random_ = 0;  // every run draws the same numbers: one input, one plan
  Found best_;
};

bool Search::done() {
  if (best_.height == limits_.lower_bound) return true;
  if (best_.attempts == 0) return false;
  if (best_.attempts >= limits_.attempts) return true;
  best_.out_of_time = std::chrono::steady_clock::now() >= limits_.deadline;
  return best_.out_of_time;
}

// Goes on from what is placed. False: order_[placed_] would end above the limit.
bool Search::fill(std::uint64_t limit) {
  ++best_.attempts;
  for (; placed_ < order_.size(); ++placed_) {
    const std::uint32_t item = order_[placed_];
    const std::uint64_t offset = placement_.lowest_fit(item, kAlignment);
    if (offset + arcs_[item].bytes > limit) return false;
    placement_.put(item, offset);
    offsets_[item] = offset;
  }
  std::uint64_t height = 0;
  for (std::size_t i = 0; i < arcs_.size(); ++i) height = std::max(height, offsets_[i] + arcs_[i].bytes);
  best_.height = height;
  best_.offsets = offsets_;
  best_.order = order_;
  return true;
}

void Search::try_order() {
  placement_.clear();
  placed_ = 0;
  fill(best_.offsets.empty() ? kUnlimited : best_.height - kAlignment);
}

void Search::try_sorted(const std::vector<double>& values) {
  if (done()) return;
  order_.resize(arcs_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] > values[b]; });
  try_order();
}

// From the bottom up, first fit puts everything at least as low as it was.
void Search::try_skyline(const std::vector<double>& values) {
  if (done()) return;
  const std::vector<std::uint64_t> offsets = skyline(arcs_, period_, values);
  order_.resize(arcs_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return offsets[a] < offsets[b]; });
  try_order();
}

// Of each arc the most bytes that are alive at some moment of its life.
std::vector<double> Search::busiest() const {
  std::vector<std::uint64_t> tree(2ul * period_);  // of maxima; its leaves are the places
  const std::span<std::uint64_t> leaves(tree.data() + period_, period_);
  const std::vector<std::uint64_t> live = live_bytes(arcs_, period_);
  std::copy(live.begin(), live.end(), leaves.begin());
  for (std::size_t node = period_ - 1; node >= 1; --node) tree[node] = std::max(tree[2 * node], tree[2 * node + 1]);
  const auto maximum = [&](std::size_t from, std::size_t to) {
    std::uint64_t found = 0;
    for (from += period_, to += period_; from < to; from /= 2, to /= 2) {
      if (from % 2 == 1) found = std::max(found, tree[from++]);
      if (to % 2 == 1) found = std::max(found, tree[--to]);
    }
    return found;
  };
  std::vector<double> found;
  found.reserve(arcs_.size());
  for (const Arc& arc : arcs_) {
    const std::uint64_t end = std::uint64_t{arc.start} + arc.length;
    const std::uint64_t past = end > period_ ? end - period_ : 0;
    found.push_back(static_cast<double>(std::max(maximum(arc.start, end - past), maximum(0, past))));
  }
  return found;
}

// bytes^q * length^(4 - q), q quarters of the weight being the size's: few value what lives long, many what is large.
// Only the order counts, so no root is taken (libm is not to be had in the training process).
std::vector<double> Search::weighed(unsigned quarters, double noise) {
  std::vector<double> values;
  values.reserve(arcs_.size());
  for (const Arc& arc : arcs_) {
    const double factor = noise > 0 ? 1 + noise * random() : 1;
    double value = 1;
    for (unsigned i = 0; i < 4; ++i) {
      value *= factor * static_cast<double>(i < quarters ? arc.bytes : arc.length);
    }
    values.push_back(value);
  }
  return values;
}

void Search::try_starts() {
  try_sorted(weighed(4, 0));
  // What is alive in the busiest times must stack without gaps: it goes first, in steps of a tenth of the peak.
  std::vector<double> crowded = busiest();
  const auto peak = static_cast<double>(limits_.lower_bound);
  for (std::size_t i = 0; i < arcs_.size(); ++i) {
    crowded[i] = static_cast<double>(static_cast<unsigned>(10 * crowded[i] / peak)) +
                 static_cast<double>(arcs_[i].bytes) / (2 * peak);
  }
  try_sorted(crowded);
  for (const unsigned quarters : {0u, 1u, 2u, 4u}) try_skyline(weighed(quarters, 0));
  for (const unsigned quarters : {0u, 2u}) try_sorted(weighed(quarters, 0));
}

double Search::random() {
  random_ = fold_size(random_, 1);
  return static_cast<double>(random_ >> 11) * 0x1p-53;
}

// What did not fit gets an earlier turn, nearer to its old one than to the front.
void Search::promote() {
  const auto target = static_cast<std::size_t>(static_cast<double>(placed_) * std::max(random(), random()));
  for (std::size_t i = placed_; i-- > target;) placement_.remove(order_[i], offsets_[order_[i]]);
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(target);
  const auto last = order_.begin() + static_cast<std::ptrdiff_t>(placed_);
  std::rotate(first, last, last + 1);
  placed_ = target;
}

// Until something ends at or below the limit. False: patience is out.
bool Search::improve(std::uint64_t limit) {
  order_ = best_.order;
  placement_.clear();
  placed_ = 0;
  for (std::uint32_t failures = 0; failures < kPatience && !done(); ++failures) {
    if (fill(limit)) return true;
    promote();
  }
  return false;
}

Found Search::run() {
  try_starts();
  double share = 0.5;  // of the way from the bound to the best that is still allowed
  while (!done()) {
    const std::uint64_t excess = best_.height - limits_.lower_bound;
    const auto allowed = static_cast<std::uint64_t>(static_cast<double>(excess) * share) & ~(kAlignment - 1);
    if (improve(limits_.lower_bound + std::min(allowed, excess - kAlignment))) {
      share = 0.5;
    } else {
      share = share < 0.9 ? share + 0.2 : 0.1;
      try_skyline(weighed(static_cast<unsigned>(5 * random()), 0.5));
    }
  }
  return std::move(best_);
}

}  // namespace

Found search(std::span<const Arc> arcs, std::uint32_t period, const SearchLimits& limits) {
  return Search(arcs, period, limits).run();
}

}  // namespace hearth::plan
