#include "runtime/query.h"

#include <cstring>

#include "access/guard.h"
#include "runtime/state.h"

namespace hearth::runtime {

int public_state() {
  switch (g.mode.load(std::memory_order_acquire)) {
    case Mode::bootstrap:
    case Mode::starting:
      return HEARTH_STATE_BOOTSTRAP;
    case Mode::tracking:
      if (managing()) return HEARTH_STATE_MANAGED;
      return profiling() ? HEARTH_STATE_PROFILE : HEARTH_STATE_OBSERVE;
    case Mode::forwarding:
      break;
  }
  return g.forked ? HEARTH_STATE_FORWARDING : HEARTH_STATE_DISABLED;
}

namespace {

// A tensor in its planned place has no record of its own, and no serial number.
int find_planned(const void* address, hearth_tensor_info* info) {
  const PlannedTensor tensor = planned_tensor(address);
  if (tensor.address == nullptr) return 0;
  if (info == nullptr) return 1;
  hearth_tensor_info found{};
  found.struct_size = info->struct_size;
  found.address = tensor.address;
  found.bytes = tensor.bytes;
  found.iteration = g.iteration.load(std::memory_order_relaxed);
  found.op = "";
  std::memcpy(info, &found, info->struct_size < sizeof found ? info->struct_size : sizeof found);
  return 1;
}

}  // namespace

int find_tensor(const void* address, hearth_tensor_info* info) {
  if (g.mode.load(std::memory_order_acquire) != Mode::tracking) return 0;
  const TensorSlot slot = g.registry.find(address);
  if (!slot) return find_planned(address, info);
  if (info == nullptr) return 1;
  const registry::Tensor& tensor = g.registry.at(slot);
  hearth_tensor_info found{};
  found.struct_size = info->struct_size;
  found.serial = tensor.serial.value;
  found.address = reinterpret_cast<const void*>(tensor.address.load(std::memory_order_acquire));
  found.bytes = tensor.bytes;
  found.iteration = tensor.iteration;
  found.op = g.names.text(tensor.op).data();
  found.own_pages = tensor.own_pages ? 1 : 0;
  std::memcpy(info, &found, info->struct_size < sizeof found ? info->struct_size : sizeof found);
  return 1;
}

void get_counters(hearth_counters* counters) {
  if (counters == nullptr) return;
  hearth_counters now{};
  now.struct_size = counters->struct_size;
  now.state = static_cast<std::uint32_t>(public_state());
  // Frees are read first: a tensor that comes and goes meanwhile cannot make more frees than allocations.
  const Managed& m = g.managed;
  now.frees = g.counters.frees.load(std::memory_order_acquire) + m.freed.get() +
              m.freed_elsewhere.load(std::memory_order_acquire) + m.small_freed.load(std::memory_order_acquire);
  now.allocations = g.counters.allocations.load(std::memory_order_acquire) + m.taken.get() + m.small.get();
  now.live_tensors = now.allocations - now.frees;
  now.live_bytes = g.counters.live_bytes.load(std::memory_order_relaxed) + planned_live_bytes();
  now.peak_bytes = g.counters.peak_bytes.load(std::memory_order_relaxed);
  now.iterations = g.iteration.load(std::memory_order_relaxed);
  now.profiled = g.profile.completed;
  now.page_faults_caught = access::stats().faults;
  std::memcpy(counters, &now, counters->struct_size < sizeof now ? counters->struct_size : sizeof now);
}

}  // namespace hearth::runtime
