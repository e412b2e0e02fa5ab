#include "plan/make_plan.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "plan/validate.h"

namespace hearth::plan {
namespace {

using profile::Profile;
using profile::Tensor;

constexpr std::uint64_t kMaxBytes = 1ull << 46;  // of all tensors together; the packer's sums must not overflow

bool born_within(const Tensor& tensor) { return tensor.born_order != 0; }
bool dies_within(const Tensor& tensor) { return tensor.dies_order != profile::kAfter; }

// For each tensor that outlives the iteration, where the former iteration's tensor of its kind died; see make_plan.h.
class Counterparts {
 public:
  explicit Counterparts(const Profile& profile) {
    std::vector<const Tensor*> heirs;
    for (const Tensor& tensor : profile.tensors) {
      if (!born_within(tensor) && dies_within(tensor)) heirs.push_back(&tensor);
    }
    // The list of what is alive at the begin need not be in order of birth; serial numbers are.
    std::sort(heirs.begin(), heirs.end(), [](const Tensor* a, const Tensor* b) { return a->serial < b->serial; });
    for (const Tensor* tensor : heirs) kinds_[{tensor->bytes, tensor->producer}].deaths.push_back(tensor->dies_order);
  }

  // To be called in order of birth. 0 = there is none.
  std::uint32_t next_death(const Tensor& tensor) {
    const auto found = kinds_.find({tensor.bytes, tensor.producer});
    if (found == kinds_.end() || found->second.taken == found->second.deaths.size()) return 0;
    return found->second.deaths[found->second.taken++];
  }

 private:
  struct Kind {
    std::vector<std::uint32_t> deaths;
    std::size_t taken = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, Kind> kinds_;
};

struct ClassKey {
  profile::Lifetime lifetime;
  std::uint8_t frequency;
  auto operator<=>(const ClassKey&) const = default;
};

class Planner {
 public:
  Planner(const Profile& profile, const PlanOptions& options) : options_(options) {
    plan_.min_bytes = options.min_bytes;
    collect(profile);
    options_.pack.period = plan_.period;
  }

  std::uint64_t planned_bytes() const { return planned_bytes_; }

  Plan make() {
    if (!items_.empty()) {
      if (options_.home_of.empty()) {
        pack_all();
      } else {
        pack_by_home();
      }
    }
    plan_.signature = signature_of(plan_.entries);
    return std::move(plan_);
  }

 private:
  void collect(const Profile& profile);
  void add(const Tensor& tensor, std::uint32_t death, Home home);
  void pack_all();
  void pack_by_home();
  Packing packed(std::span<const Item> items, bool grouped, std::uint32_t share) const;
  void take_common(const Packing& packing);
  void take_home(Home home, std::span<const std::size_t> chosen, const Packing& packing);
  void take_separate(const std::vector<Packing>& packings);
  void seal(Arena& arena, const Packing& packing) const;
  std::uint64_t peak_of(std::span<const std::size_t> chosen) const;

  PlanOptions options_;
  Plan plan_;
  std::vector<Item> items_;             // planned entries; Item::group is the index of its class
  std::vector<std::uint32_t> entries_;  // of each item
  std::vector<Home> homes_;             // likewise
  std::map<ClassKey, std::uint32_t> classes_;
  std::uint64_t planned_bytes_ = 0;  // sticks at the largest number
};

void Planner::collect(const Profile& profile) {
  Counterparts counterparts(profile);
  std::uint32_t last = 0;
  for (const Tensor& tensor : profile.tensors) {
    last = std::max(last, tensor.born_order);
    if (dies_within(tensor)) last = std::max(last, tensor.dies_order);
    if (!born_within(tensor)) continue;
    // Counterparts are dealt out to every tensor of the kind, whichever thread made it and wherever it lies.
    const std::uint32_t death = dies_within(tensor) ? tensor.dies_order : counterparts.next_death(tensor);
    const auto index = static_cast<std::size_t>(&tensor - profile.tensors.data());
    const Home home = index < options_.home_of.size() ? options_.home_of[index] : Home::fast;
    if (tensor.born_thread == 0 && tensor.bytes >= options_.min_bytes) add(tensor, death, home);
  }
  plan_.period = last + 1;
}

void Planner::add(const Tensor& tensor, std::uint32_t death, Home home) {
  Entry entry;
  entry.bytes = tensor.bytes;
  entry.op = tensor.born;
  entry.nth = tensor.nth;
  entry.birth = entry.death = tensor.born_order;
  const bool overlaps_itself = !dies_within(tensor) && death > tensor.born_order;
  if (death != 0 && !overlaps_itself) entry.death = death;
  if (entry.death != entry.birth && tensor.own_pages && tensor.bytes > 0) {
    const auto fresh = static_cast<std::uint32_t>(classes_.size());
    const auto group = classes_.try_emplace({tensor.lifetime, tensor.frequency}, fresh).first->second;
    const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - planned_bytes_;
    planned_bytes_ += std::min(left, tensor.bytes);
    items_.push_back({.bytes = tensor.bytes, .birth = entry.birth, .death = entry.death, .group = group});
    entries_.push_back(static_cast<std::uint32_t>(plan_.entries.size()));
    homes_.push_back(home);
  }
  plan_.entries.push_back(entry);
}

Packing Planner::packed(std::span<const Item> items, bool grouped, std::uint32_t share) const {
  PackOptions options = options_.pack;
  options.keep_groups_together = grouped;
  options.budget_ms = options.budget_ms * share / 100;
  return pack(items, options);
}

void Planner::pack_all() {
  std::vector<std::vector<Item>> by_class(classes_.size());
  for (const Item& item : items_) by_class[item.group].push_back(item);
  std::vector<Packing> separate;
  std::uint64_t separate_bytes = 0;
  for (const std::vector<Item>& items : by_class) {
    separate.push_back(packed(items, false, static_cast<std::uint32_t>(25 * items.size() / items_.size())));
    separate_bytes += whole_pages(separate.back().height);
  }
  const Packing together = packed(items_, false, 50);
  const Packing grouped = packed(items_, true, 25);
  const std::uint64_t common_bytes = whole_pages(together.height);
  plan_.costs.lower_bound = together.lower_bound;
  plan_.costs.separation = separate_bytes - std::min(separate_bytes, common_bytes);
  plan_.costs.grouping = grouped.height - std::min(grouped.height, together.height);
  const double limit = options_.separation_share * static_cast<double>(together.lower_bound);
  if (options_.separate || static_cast<double>(plan_.costs.separation) <= limit) {
    take_separate(separate);
  } else {
    take_common(options_.group ? grouped : together);
  }
}

void Planner::pack_by_home() {
  plan_.costs.lower_bound = plan::peak_of(items_, plan_.period);
  std::uint64_t heights = 0;
  for (const Home home : {Home::fast, Home::slow, Home::own}) {
    std::vector<Item> items;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (homes_[i] != home) continue;
      items.push_back(items_[i]);
      if (home == Home::own) items.back().bytes = whole_pages(items.back().bytes);
      chosen.push_back(i);
    }
    if (items.empty()) continue;
    const Packing packing = packed(items, false, 50);
    take_home(home, chosen, packing);
    heights += plan_.arenas.back().bytes;
  }
  plan_.costs.separation = heights - std::min(heights, plan_.costs.lower_bound);
}

void Planner::take_home(Home home, std::span<const std::size_t> chosen, const Packing& packing) {
  Arena arena;
  arena.home = home;
  seal(arena, packing);
  arena.lower_bound = peak_of(chosen);
  const auto number = static_cast<std::uint32_t>(plan_.arenas.size());
  plan_.arenas.push_back(arena);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    Entry& entry = plan_.entries[entries_[chosen[i]]];
    entry.arena = number;
    entry.offset = packing.offsets[i];
  }
}

void Planner::seal(Arena& arena, const Packing& packing) const {
  arena.bytes = whole_pages(packing.height);
  arena.lower_bound = packing.lower_bound;
  arena.tensors = static_cast<std::uint32_t>(packing.offsets.size());
}

std::uint64_t Planner::peak_of(std::span<const std::size_t> chosen) const {
  std::vector<Item> items;
  for (const std::size_t i : chosen) items.push_back(items_[i]);
  return plan::peak_of(items, plan_.period);
}

void Planner::take_common(const Packing& packing) {
  Arena arena;
  seal(arena, packing);
  plan_.arenas.push_back(arena);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Entry& entry = plan_.entries[entries_[i]];
    entry.arena = 0;
    entry.offset = packing.offsets[i];
  }
}

void Planner::take_separate(const std::vector<Packing>& packings) {
  std::vector<std::uint32_t> arena_of(packings.size());
  for (const auto& [key, number] : classes_) {  // arenas by lifetime, then frequency
    arena_of[number] = static_cast<std::uint32_t>(plan_.arenas.size());
    Arena arena{.mixed = false, .lifetime = key.lifetime, .frequency = key.frequency};
    seal(arena, packings[number]);
    plan_.arenas.push_back(arena);
  }
  std::vector<std::size_t> next(packings.size(), 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::uint32_t number = items_[i].group;
    Entry& entry = plan_.entries[entries_[i]];
    entry.arena = arena_of[number];
    entry.offset = packings[number].offsets[next[number]++];
  }
}

}  // namespace

Result<Plan> make_plan(const Profile& profile, const PlanOptions& options) noexcept {
  try {
    if (!profile.complete()) {
      return Error{"no plan: the profile is incomplete, " + std::to_string(profile.anomalies.dropped_events) +
                   " events did not fit the log; profile with fewer of them (HEARTH_PROFILE=ops)"};
    }
    Planner planner(profile, options);
    if (planner.planned_bytes() > kMaxBytes) {
      return Error{"no plan: the sizes of the tensors are beyond any machine's memory, so the profile is damaged"};
    }
    Plan plan = planner.make();
    if (const Result<void> sound = validate(plan); !sound) return Error{"no plan: " + sound.error()};
    return plan;
  } catch (const std::exception&) {
    return Error{"out of memory"};  // short enough to need none itself
  }
}

}  // namespace hearth::plan
