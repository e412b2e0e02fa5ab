#include "simulate/workload.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hearth::simulate {
namespace {

using profile::Profile;
using profile::Tensor;

constexpr std::uint32_t kNoObject = 0xffffffffu;
constexpr std::uint64_t kPage = 4096;

bool born_within(const Tensor& tensor) { return tensor.born_order != 0; }
bool dies_within(const Tensor& tensor) { return tensor.dies_order != profile::kAfter; }

class Maker {
 public:
  Maker(const Profile& profile, const WorkloadOptions& options) : profile_(profile), options_(options) {}

  Workload make() {
    find_period();
    add_objects();
    add_ops();
    return std::move(workload_);
  }

 private:
  bool placeable(const Tensor& tensor) const {
    return tensor.own_pages && tensor.bytes >= options_.min_bytes && tensor.bytes > 0;
  }

  void find_period() {
    std::uint32_t last = 0;
    for (const Tensor& tensor : profile_.tensors) {
      last = std::max(last, tensor.born_order);
      if (dies_within(tensor)) last = std::max(last, tensor.dies_order);
    }
    workload_.period = last + 1;
  }

  std::uint32_t add(std::uint32_t index, Span alive, bool resident) {
    Object object;
    object.bytes = (profile_.tensors[index].bytes + kPage - 1) / kPage * kPage;
    object.tensor = index;
    object.resident = resident;
    object.alive[0] = alive;
    workload_.objects.push_back(object);
    return static_cast<std::uint32_t>(workload_.objects.size() - 1);
  }

  void add_objects() {
    object_of_.assign(profile_.tensors.size(), kNoObject);
    std::vector<std::uint32_t> heirs;
    for (std::uint32_t i = 0; i < profile_.tensors.size(); ++i) {
      const Tensor& tensor = profile_.tensors[i];
      if (!placeable(tensor) || born_within(tensor)) continue;
      if (dies_within(tensor)) {
        heirs.push_back(i);
      } else {
        object_of_[i] = add(i, {0, workload_.period}, true);
      }
    }
    std::sort(heirs.begin(), heirs.end(), [&](std::uint32_t a, std::uint32_t b) {
      return profile_.tensors[a].serial < profile_.tensors[b].serial;
    });
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::uint32_t>> waiting;  // by size and producer
    for (const std::uint32_t i : heirs) {
      waiting[{profile_.tensors[i].bytes, profile_.tensors[i].producer}].push_back(i);
    }
    for (auto& [kind, list] : waiting) std::reverse(list.begin(), list.end());  // taken from the back, oldest first
    for (std::uint32_t i = 0; i < profile_.tensors.size(); ++i) {
      const Tensor& tensor = profile_.tensors[i];
      if (!born_within(tensor)) continue;
      std::vector<std::uint32_t>* counterparts = nullptr;
      if (!dies_within(tensor)) {
        const auto found = waiting.find({tensor.bytes, tensor.producer});
        if (found != waiting.end() && !found->second.empty()) counterparts = &found->second;
      }
      if (placeable(tensor)) {
        const std::uint32_t death = dies_within(tensor) ? tensor.dies_order : workload_.period;
        object_of_[i] = add(i, {tensor.born_order, death}, false);
      }
      if (counterparts == nullptr) continue;
      const std::uint32_t former = counterparts->back();
      counterparts->pop_back();
      if (object_of_[i] == kNoObject) continue;
      object_of_[former] = object_of_[i];
      workload_.objects[object_of_[i]].alive[1] = {0, profile_.tensors[former].dies_order};
    }
  }

  void add_ops() {
    workload_.ops.resize(profile_.ops.size());
    std::vector<std::vector<Use>> uses(profile_.ops.size());
    for (std::uint32_t i = 0; i < profile_.tensors.size(); ++i) {
      if (object_of_[i] == kNoObject) continue;
      for (const profile::Access& access : profile_.tensors[i].accesses) add_use(i, access, uses);
    }
    double busy = 0;
    for (const profile::Op& op : profile_.ops) busy += op.thread == 0 ? static_cast<double>(op.self_ns) : 0;
    const auto profiled = static_cast<double>(profile_.duration_ns);
    // A profiled iteration takes longer than the others; its ops are taken to do so alike.
    const double factor = options_.step_ns > 0 && profiled > 0 ? options_.step_ns / profiled : 1;
    for (std::size_t i = 0; i < profile_.ops.size(); ++i) {
      Op& op = workload_.ops[i];
      op.self_ns = profile_.ops[i].thread == 0 ? static_cast<double>(profile_.ops[i].self_ns) * factor : 0;
      op.first_use = static_cast<std::uint32_t>(workload_.uses.size());
      op.uses = static_cast<std::uint32_t>(uses[i].size());
      workload_.uses.insert(workload_.uses.end(), uses[i].begin(), uses[i].end());
    }
    workload_.rest_ns = std::max(0.0, profiled - busy) * factor;
    workload_.step_ns = workload_.rest_ns + busy * factor;
  }

  void add_use(std::uint32_t index, const profile::Access& access, std::vector<std::vector<Use>>& uses) {
    const bool covered = (access.flags & profile::kCovered) != 0;
    if (access.op >= uses.size() || covered || profile_.ops[access.op].thread != 0) return;
    const Tensor& tensor = profile_.tensors[index];
    double bytes = static_cast<double>(access.bytes != 0 ? access.bytes : tensor.bytes);
    if (tensor.watch == HEARTH_WATCH_SAMPLED_PAGES && tensor.sampled_pages > 0) {
      const double share = static_cast<double>(access.pages) / tensor.sampled_pages;
      bytes = static_cast<double>(tensor.bytes) * std::min(1.0, share);
    }
    const bool writes = (access.kind & HEARTH_ACCESS_WRITE) != 0;
    const bool reads = (access.kind & HEARTH_ACCESS_READ) != 0;
    if (!reads && !writes) return;  // a view of it was made, or it was only handed out: no byte moves
    uses[access.op].push_back({object_of_[index], reads ? bytes : 0, writes ? bytes : 0});
  }

  const Profile& profile_;
  WorkloadOptions options_;
  Workload workload_;
  std::vector<std::uint32_t> object_of_;  // by tensor
};

}  // namespace

Workload make_workload(const Profile& profile, const WorkloadOptions& options) {
  return Maker(profile, options).make();
}

}  // namespace hearth::simulate
