#include "policy/parts.h"

#include <algorithm>

namespace hearth::policy {
namespace {

using simulate::Object;
using simulate::Use;
using simulate::Workload;
using tier::time_of;

constexpr std::uint64_t kPage = 4096;

class Maker {
 public:
  Maker(const Workload& workload, const tier::Machine& machine, const Grid& grid)
      : workload_(workload), machine_(machine), grid_(grid), uses_of_(workload.objects.size()) {
    parts_.base_ns.resize(workload.ops.size());
    for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
      for (std::uint32_t i = 0; i < workload.ops[op].uses; ++i) {
        const Use& use = workload.uses[workload.ops[op].first_use + i];
        const double fast = time_of(use.read, machine.fast.read) + time_of(use.write, machine.fast.write);
        const double slow = time_of(use.read, machine.slow.read) + time_of(use.write, machine.slow.write);
        parts_.base_ns[op] += fast;
        uses_of_[use.object].push_back({op, slow - fast, use.write > 0});
      }
    }
  }

  Parts make(std::uint64_t slice) {
    for (std::uint32_t i = 0; i < workload_.objects.size(); ++i) {
      const Object& object = workload_.objects[i];
      if (!object.resident && !object.planned) continue;
      const std::uint64_t pages = object.bytes / kPage;
      const std::uint64_t wanted = slice == 0 ? 1 : (object.bytes + slice - 1) / slice;
      const std::uint64_t slices = std::clamp<std::uint64_t>(wanted, 1, std::min<std::uint64_t>(kMostSlices, pages));
      for (std::uint64_t s = 0; s < slices; ++s) {
        const std::uint64_t bytes = (pages * (s + 1) / slices - pages * s / slices) * kPage;
        add(i, bytes, slices == 1);
      }
    }
    return std::move(parts_);
  }

 private:
  // The position in a life that began at `birth`.
  std::uint32_t position(std::uint32_t op, const Object& object) const {
    const bool next = !object.resident && op < object.birth_op;
    return grid_.slot_of(op) + (next ? grid_.count() : 0);
  }

  // An op that runs others inside uses at its end what it may have freed, or not yet allocated, while they ran.
  static std::uint32_t within_life(std::uint32_t op, const Object& object) {
    if (object.resident) return op;
    if (object.death_op >= object.birth_op) return std::clamp(op, object.birth_op, object.death_op);
    return op > object.death_op && op < object.birth_op ? object.death_op : op;
  }

  std::uint32_t length(std::uint32_t op) const {
    return op < workload_.ops.size() ? grid_.end_of(op) - grid_.slot_of(op) : 0;
  }

  void add(std::uint32_t index, std::uint64_t bytes, bool all) {
    const Object& object = workload_.objects[index];
    Part part;
    part.object = index;
    part.bytes = bytes;
    part.share = static_cast<double>(bytes) / static_cast<double>(object.bytes);
    part.resident = object.resident;
    part.whole = all && object.planned;
    part.life = {0, grid_.count()};
    if (!object.resident) {
      const std::uint32_t death = position(object.death_op, object) + length(object.death_op);
      part.life = {std::min(grid_.slot_of(object.birth_op), grid_.count() - 1), death};
      part.life.to = std::max(part.life.to, part.life.from + 1);
      if (object.death_op >= object.birth_op) part.life.to = std::min(part.life.to, grid_.count());
    }
    part.first_cluster = static_cast<std::uint32_t>(parts_.clusters.size());
    add_clusters(part, object);
    part.clusters = static_cast<std::uint32_t>(parts_.clusters.size()) - part.first_cluster;
    parts_.parts.push_back(part);
  }

  void add_clusters(const Part& part, const Object& object) {
    std::vector<Visit> visits = uses_of_[part.object];
    std::stable_sort(visits.begin(), visits.end(), [&](const Visit& a, const Visit& b) {
      const bool later = !object.resident && a.op < object.birth_op;
      const bool also = !object.resident && b.op < object.birth_op;
      return later != also ? also : a.op < b.op;
    });
    const auto bytes = static_cast<double>(part.bytes);
    const double round_trip = time_of(bytes, machine_.move_to_slow) + time_of(bytes, machine_.move_to_fast);
    std::vector<Cluster> clusters;
    if (!part.resident) clusters.push_back({0, 0, {part.life.from, part.life.from + 1}});
    const auto first = static_cast<std::uint32_t>(parts_.visits.size());
    for (const Visit& visit : visits) {
      const auto at = static_cast<std::uint32_t>(parts_.visits.size());
      parts_.visits.push_back({visit.op, visit.more_ns * part.share, visit.writes});
      const std::uint32_t op = within_life(visit.op, object);
      const std::uint32_t end = position(op, object) + std::max(length(op), 1u);
      const std::uint32_t begin = within_life(workload_.ops[visit.op].begins_in(visit.op), object);
      const std::uint32_t slot = std::min(position(begin, object), position(op, object));
      if (clusters.empty() || gap_ns(clusters.back().slots.to, slot) > round_trip) {
        clusters.push_back({at, 0, {slot, end}});
      }
      Cluster& open = clusters.back();
      if (open.visits == 0) open.first_visit = at;
      ++open.visits;
      open.writes |= visit.writes;
      open.slots.to = std::max(open.slots.to, end);
    }
    // Alive without being used: from the last use to the death it can lie anywhere.
    if (!part.resident && gap_ns(clusters.back().slots.to, part.life.to) > time_of(bytes, machine_.move_to_slow)) {
      clusters.push_back({static_cast<std::uint32_t>(parts_.visits.size()), 0, {part.life.to - 1, part.life.to}});
    } else if (!part.resident) {
      clusters.back().slots.to = std::max(clusters.back().slots.to, part.life.to);
    }
    if (clusters.empty()) clusters.push_back({first, 0, {0, 1}});
    while (clusters.size() > kMostClusters) merge_closest(clusters);
    parts_.clusters.insert(parts_.clusters.end(), clusters.begin(), clusters.end());
  }

  double gap_ns(std::uint32_t from, std::uint32_t to) const {
    return from < to ? grid_.begin_ns(to) - grid_.begin_ns(from) : 0;
  }

  void merge_closest(std::vector<Cluster>& clusters) const {
    std::size_t closest = 0;
    double least = -1;
    for (std::size_t i = 0; i + 1 < clusters.size(); ++i) {
      const double gap = gap_ns(clusters[i].slots.to, clusters[i + 1].slots.from);
      if (least < 0 || gap < least) {
        least = gap;
        closest = i;
      }
    }
    Cluster& into = clusters[closest];
    const Cluster& next = clusters[closest + 1];
    if (into.visits == 0) into.first_visit = next.first_visit;
    into.visits += next.visits;
    into.writes |= next.writes;
    into.slots.to = std::max(into.slots.to, next.slots.to);
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
  }

  const Workload& workload_;
  const tier::Machine& machine_;
  const Grid& grid_;
  std::vector<std::vector<Visit>> uses_of_;  // by object
  Parts parts_;
};

}  // namespace

Parts make_parts(const Workload& workload, const tier::Machine& machine, const Grid& grid, std::uint64_t slice) {
  return Maker(workload, machine, grid).make(slice);
}

}  // namespace hearth::policy
