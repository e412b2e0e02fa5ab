#include "profile/classes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::profile {
namespace {

// Layers: for every position (number of outermost ops begun) the window it lies in, and whether the op begun last has a
// known module. A window ends where the module changes, or after short_ops ops, since one module may run a whole model.
struct Layers {
  std::vector<std::uint32_t> window;
  std::vector<bool> known;

  Layers(const Profile& profile, std::uint32_t short_ops) {
    window.reserve(profile.outermost.size() + 1);
    window.push_back(0);
    known.push_back(false);
    std::uint32_t current = 0, length = 0, module = 0;
    for (const std::uint32_t op : profile.outermost) {
      const std::uint32_t here = profile.ops[op].module;
      // Ops of no module (gradient accumulation between two backward layers) belong to the window that they stand in.
      if ((here != 0 && here != module) || length >= short_ops) {
        ++current;
        length = 0;
        if (here != 0) module = here;
      }
      ++length;
      window.push_back(current);
      known.push_back(here != 0);
    }
  }
};

bool crosses_turn(const Tensor& tensor, const std::vector<std::uint32_t>& turns) {
  // First backward op that begins after the birth: outermost[turn] with turn >= born_position.
  const auto turn = std::lower_bound(turns.begin(), turns.end(), tensor.born_position);
  return turn != turns.end() && tensor.dies_position > *turn;
}

Lifetime lifetime_of(const Tensor& tensor, const Profile& profile, const Layers& layers) {
  if (tensor.persistent) return Lifetime::persistent;
  if (crosses_turn(tensor, profile.turns)) return Lifetime::activation;
  const std::uint32_t born = tensor.born_position;
  const std::uint32_t dies = tensor.dies_position;
  const bool near = layers.known[born] && layers.known[dies] ? layers.window[dies] - layers.window[born] <= 1
                                                             : dies - born <= profile.thresholds.short_ops;
  return near ? Lifetime::short_lived : Lifetime::activation;
}

constexpr std::uint32_t kLifetimes = 3;
constexpr std::uint32_t kMaxBuckets = 64;

std::uint32_t class_index(const Tensor& tensor) {
  return static_cast<std::uint32_t>(tensor.lifetime) * kMaxBuckets + tensor.frequency;
}

struct Change {
  std::uint32_t order;
  std::uint32_t tensor;
  bool birth;
};

std::vector<Change> changes_in_order(const Profile& profile) {
  std::vector<Change> changes;
  changes.reserve(2 * profile.tensors.size());
  for (std::uint32_t i = 0; i < profile.tensors.size(); ++i) {
    changes.push_back({profile.tensors[i].born_order, i, true});
    if (profile.tensors[i].dies_order != kAfter) changes.push_back({profile.tensors[i].dies_order, i, false});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.order < b.order; });
  return changes;
}

}  // namespace

double touched_bytes(const Tensor& tensor, const Access& access) {
  if ((access.flags & kCovered) != 0) return 0;
  double bytes = static_cast<double>(access.bytes != 0 ? access.bytes : tensor.bytes);
  if (access.operands > 0 && access.bytes == 0 && access.faults == 0 && access.samples == 0) bytes = 0;
  if (tensor.watch == HEARTH_WATCH_SAMPLED_PAGES && tensor.sampled_pages > 0) {
    const double share = static_cast<double>(access.pages) / tensor.sampled_pages;
    bytes = static_cast<double>(tensor.bytes) * std::min(1.0, share);
  }
  return access.kind == HEARTH_ACCESS_READ_WRITE ? 2 * bytes : bytes;
}

double touches_per_byte(const Tensor& tensor) {
  if (tensor.bytes == 0) return 0;
  double sum = 0;
  for (const Access& access : tensor.accesses) sum += touched_bytes(tensor, access);
  return sum / static_cast<double>(tensor.bytes);
}

std::uint8_t frequency_bucket(double touches, const Thresholds& thresholds) {
  const std::uint32_t buckets = std::clamp(thresholds.frequency_buckets, 1u, kMaxBuckets);
  if (!(touches >= 1)) return 0;
  const double base = thresholds.frequency_base > 1 ? thresholds.frequency_base : 2.0;
  // Counted, not computed with a logarithm: the training process links libc alone. The small excess keeps exact powers
  // of the base, which are common (read twice = 2), in the upper bucket.
  std::uint32_t bucket = 1;
  for (double bound = base; bucket + 1 < buckets && touches * (1 + 1e-9) >= bound; bound *= base) ++bucket;
  return static_cast<std::uint8_t>(std::min(bucket, buckets - 1));
}

void classify(Profile& profile, const Thresholds& thresholds) {
  profile.thresholds = thresholds;
  const Layers layers(profile, thresholds.short_ops);
  for (Tensor& tensor : profile.tensors) {
    tensor.lifetime = lifetime_of(tensor, profile, layers);
    tensor.frequency = frequency_bucket(touches_per_byte(tensor), thresholds);
  }
}

std::vector<ClassSummary> summarize(const Profile& profile) {
  std::vector<ClassSummary> all(std::size_t{kLifetimes} * kMaxBuckets);
  for (const Tensor& tensor : profile.tensors) {
    ClassSummary& mine = all[class_index(tensor)];
    mine.lifetime = tensor.lifetime;
    mine.frequency = tensor.frequency;
    ++mine.tensors;
    mine.bytes += tensor.bytes;
    for (const Access& access : tensor.accesses) {
      if ((access.flags & kCovered) != 0) continue;
      ++mine.accesses;
      mine.touched_bytes += touched_bytes(tensor, access);
    }
  }
  std::vector<std::uint64_t> live(all.size());
  for (const Change& change : changes_in_order(profile)) {
    const Tensor& tensor = profile.tensors[change.tensor];
    const std::uint32_t index = class_index(tensor);
    live[index] = change.birth ? live[index] + tensor.bytes : live[index] - tensor.bytes;
    all[index].peak_bytes = std::max(all[index].peak_bytes, live[index]);
  }
  std::erase_if(all, [](const ClassSummary& each) { return each.tensors == 0; });
  return all;
}

const char* lifetime_name(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::short_lived:
      return "short";
    case Lifetime::activation:
      return "activation";
    case Lifetime::persistent:
      break;
  }
  return "persistent";
}

}  // namespace hearth::profile
