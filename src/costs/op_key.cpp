#include "costs/op_key.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::costs {
namespace {

using simulate::Use;

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); }

// Of each op of the profile: all that it touches itself.
std::vector<std::uint64_t> bytes_touched(const profile::Profile& profile) {
  std::vector<std::uint64_t> bytes(profile.ops.size(), 0);
  for (const profile::Tensor& tensor : profile.tensors) {
    for (const profile::Access& access : tensor.accesses) {
      if (access.op >= bytes.size() || (access.flags & profile::kCovered) != 0) continue;
      bytes[access.op] += access.bytes != 0 ? access.bytes : tensor.bytes;
    }
  }
  return bytes;
}

}  // namespace

double more_of(const Operand& operand, const tier::Machine& machine) {
  const auto time = [&](const tier::Speed& speed) {
    return tier::time_of(static_cast<double>(operand.read), speed.read) +
           tier::time_of(static_cast<double>(operand.write), speed.write);
  };
  return time(machine.slow) - time(machine.fast);
}

std::vector<Keyed> keyed_ops(const profile::Profile& profile, const simulate::Workload& workload,
                             const tier::Machine& machine) {
  const std::vector<std::uint64_t> touched = bytes_touched(profile);
  std::vector<Keyed> keyed;
  for (std::uint32_t op = 0; op < workload.ops.size(); ++op) {
    const simulate::Op& it = workload.ops[op];
    std::vector<std::pair<Operand, std::uint32_t>> operands;  // and their objects
    for (std::uint32_t u = it.first_use; u < it.first_use + it.uses; ++u) {
      const Use& use = workload.uses[u];
      const simulate::Object& object = workload.objects[use.object];
      if (!object.resident && !object.planned) continue;
      const Operand operand{whole(use.read), whole(use.write)};
      const auto same =
          std::find_if(operands.begin(), operands.end(), [&](const auto& other) { return other.second == use.object; });
      if (same == operands.end()) {
        operands.push_back({operand, use.object});
      } else {
        same->first.read += operand.read;
        same->first.write += operand.write;
      }
    }
    std::erase_if(operands, [&](const auto& each) { return more_of(each.first, machine) < kShowsNs; });
    if (operands.empty()) continue;
    // Among equals in order of birth, which is the same in layers that are alike.
    std::stable_sort(operands.begin(), operands.end(), [&](const auto& a, const auto& b) {
      const double more = more_of(a.first, machine);
      const double other = more_of(b.first, machine);
      return more != other ? more > other : a.first > b.first;
    });
    operands.resize(std::min(operands.size(), kMostOperands));
    Keyed made;
    made.op = op;
    made.key.op = profile.names[profile.ops[it.of].name];
    made.key.other_bytes = touched[it.of];
    for (const auto& [operand, object] : operands) {
      made.key.operands.push_back(operand);
      made.objects.push_back(object);
      made.key.other_bytes -= std::min(made.key.other_bytes, std::max(operand.read, operand.write));
    }
    keyed.push_back(std::move(made));
  }
  return keyed;
}

}  // namespace hearth::costs
