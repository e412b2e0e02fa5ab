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
    order_ops();
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

  std::uint32_t last_op() const { return static_cast<std::uint32_t>(order_.size()); }

  // The ops of the main thread in order of their ends.
  void order_ops() {
    for (std::uint32_t op = 0; op < profile_.ops.size(); ++op) {
      if (profile_.ops[op].thread == 0) order_.push_back(op);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const profile::Op &first = profile_.ops[a], &second = profile_.ops[b];
      return first.end_ns != second.end_ns ? first.end_ns < second.end_ns : first.depth > second.depth;
    });
    place_of_.assign(profile_.ops.size(), kNoObject);
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_of_[order_[i]] = i;
  }

  // Of the ops, how many have ended by then: the place of the one that ends next.
  std::uint32_t op_at(std::uint64_t ns) const {
    const auto next = std::partition_point(order_.begin(), order_.end(),
                                           [&](std::uint32_t op) { return profile_.ops[op].end_ns < ns; });
    return static_cast<std::uint32_t>(next - order_.begin());
  }

  std::uint32_t birth_op(const Tensor& tensor) const { return op_at(tensor.born_ns); }

  // Dead before the next op if it is not that one that let go of it.
  std::uint32_t death_op(const Tensor& tensor) const {
    const std::uint32_t next = op_at(tensor.dies_ns);
    const bool within = tensor.dies < place_of_.size() && place_of_[tensor.dies] == next;
    return within || next == 0 ? next : next - 1;
  }

  std::uint32_t add(std::uint32_t index, Span alive, bool resident) {
    Object object;
    object.bytes = (profile_.tensors[index].bytes + kPage - 1) / kPage * kPage;
    object.tensor = index;
    object.resident = resident;
    object.alive[0] = alive;
    if (!resident) {
      const Tensor& tensor = profile_.tensors[index];
      object.birth_op = birth_op(tensor);
      object.death_op = dies_within(tensor) ? std::max(death_op(tensor), object.birth_op) : last_op();
      object.planned = tensor.born_thread == 0 && dies_within(tensor) && tensor.dies_order != tensor.born_order;
    }
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
      if (tensor.born_thread == 0 && tensor.bytes >= options_.min_bytes) {
        workload_.entry_ops.push_back(birth_op(tensor));
      }
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
      Object& object = workload_.objects[object_of_[i]];
      object.alive[1] = {0, profile_.tensors[former].dies_order};
      object.death_op = death_op(profile_.tensors[former]);
      // Two iterations' tensors that overlap in time have no common place.
      const bool apart = profile_.tensors[former].dies_order < tensor.born_order && object.death_op < object.birth_op;
      object.planned = tensor.born_thread == 0 && apart;
    }
  }

  void add_ops() {
    std::vector<std::vector<Use>> uses(order_.size());
    for (std::uint32_t i = 0; i < profile_.tensors.size(); ++i) {
      if (object_of_[i] == kNoObject) continue;
      add_scratch(i, uses);
      for (const profile::Access& access : profile_.tensors[i].accesses) add_use(i, access, uses);
    }
    const std::vector<Lead> leads = time_leads();
    const auto profiled = static_cast<double>(profile_.duration_ns);
    // A profiled iteration takes longer than the others; its ops are taken to do so alike.
    const double factor = options_.step_ns > 0 && profiled > 0 ? options_.step_ns / profiled : 1;
    double busy = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto self = static_cast<double>(profile_.ops[order_[i]].self_ns);
      Op op;
      op.of = order_[i];
      op.self_ns = self * factor;
      op.lead_ns = leads[i].ns * factor;
      op.spent_ns = std::min(leads[i].spent_ns, self) * factor;
      op.from = leads[i].from;
      busy += op.lapse_ns(op.self_ns);
      op.first_use = static_cast<std::uint32_t>(workload_.uses.size());
      op.uses = static_cast<std::uint32_t>(uses[i].size());
      workload_.ops.push_back(op);
      workload_.uses.insert(workload_.uses.end(), uses[i].begin(), uses[i].end());
    }
    workload_.rest_ns = std::max(0.0, profiled * factor - busy);
  }

  // Of an op, as Op has it; by place.
  struct Lead {
    double ns = 0, spent_ns = 0;
    std::uint32_t from = 0;
  };

  // Goes through the begins and ends of the ops in order of time.
  std::vector<Lead> time_leads() const {
    std::vector<Lead> leads(order_.size());
    std::vector<std::uint32_t> open;   // places, the innermost last
    std::vector<std::uint32_t> begun;  // since the last end
    std::uint64_t last_ns = 0;         // begin or end
    double lead_ns = 0;                // since the last end
    const auto end_innermost = [&] {
      const std::uint32_t place = open.back();
      open.pop_back();
      leads[place].ns = lead_ns;
      for (const std::uint32_t other : begun) leads[other].from = place;
      begun.clear();
      lead_ns = 0;
      last_ns = std::max(last_ns, profile_.ops[order_[place]].end_ns);
    };
    for (std::uint32_t index = 0; index < profile_.ops.size(); ++index) {
      const profile::Op& op = profile_.ops[index];
      if (op.thread != 0) continue;
      while (!open.empty() && order_[open.back()] != op.parent) end_innermost();
      const double ns = static_cast<double>(op.begin_ns - std::min(op.begin_ns, last_ns));
      lead_ns += ns;
      if (!open.empty()) leads[open.back()].spent_ns += ns;
      last_ns = std::max(last_ns, op.begin_ns);
      open.push_back(place_of_[index]);
      begun.push_back(place_of_[index]);
    }
    while (!open.empty()) end_innermost();
    return leads;
  }

  // What an op allocates and frees itself it writes and reads. Nobody announces that, and a page fault tells only the
  // first of it.
  void add_scratch(std::uint32_t index, std::vector<std::vector<Use>>& uses) {
    const Tensor& tensor = profile_.tensors[index];
    if (!tensor.scratch || tensor.born >= place_of_.size() || place_of_[tensor.born] == kNoObject) return;
    const auto bytes = static_cast<double>(tensor.bytes);
    uses[place_of_[tensor.born]].push_back({object_of_[index], bytes, bytes});
  }

  void add_use(std::uint32_t index, const profile::Access& access, std::vector<std::vector<Use>>& uses) {
    // The emulated backend charges what is handed on to the nested op alone, too (runtime/charges.h).
    const bool covered = (access.flags & (profile::kCovered | profile::kHandedOn)) != 0;
    if (profile_.tensors[index].scratch && access.op == profile_.tensors[index].born) return;  // add_scratch() has it
    if (access.op >= place_of_.size() || covered || place_of_[access.op] == kNoObject) return;
    const Tensor& tensor = profile_.tensors[index];
    double bytes = static_cast<double>(access.bytes != 0 ? access.bytes : tensor.bytes);
    if (tensor.watch == HEARTH_WATCH_SAMPLED_PAGES && tensor.sampled_pages > 0) {
      const double share = static_cast<double>(access.pages) / tensor.sampled_pages;
      bytes = static_cast<double>(tensor.bytes) * std::min(1.0, share);
    }
    const bool writes = (access.kind & HEARTH_ACCESS_WRITE) != 0;
    const bool reads = (access.kind & HEARTH_ACCESS_READ) != 0;
    if (!reads && !writes) return;  // a view of it was made, or it was only handed out: no byte moves
    uses[place_of_[access.op]].push_back({object_of_[index], reads ? bytes : 0, writes ? bytes : 0});
  }

  const Profile& profile_;
  WorkloadOptions options_;
  Workload workload_;
  std::vector<std::uint32_t> order_;      // ops of the profile, as the workload has them
  std::vector<std::uint32_t> place_of_;   // by op of the profile: in order_
  std::vector<std::uint32_t> object_of_;  // by tensor
};

}  // namespace

std::vector<double> lapses(const Workload& workload, const std::vector<double>& op_ns) {
  std::vector<double> lapses;
  lapses.reserve(op_ns.size());
  for (std::size_t op = 0; op < op_ns.size(); ++op) lapses.push_back(workload.ops[op].lapse_ns(op_ns[op]));
  return lapses;
}

Workload make_workload(const Profile& profile, const WorkloadOptions& options) {
  return Maker(profile, options).make();
}

}  // namespace hearth::simulate
