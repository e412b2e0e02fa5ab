#include "access/mapping_budget.h"

#include <bit>
#include <limits>

#include "platform/os_process.h"

namespace hearth::access {

void MappingBudget::init(std::uint32_t limit) {
  if (limit == 0) {
    const std::uint32_t all = os::max_mapping_count();
    const std::uint32_t used = os::mapping_count();
    limit = all > used ? (all - used) / 3 : 0;
  }
  left_.store(limit, std::memory_order_relaxed);
  marginal_ = 0;
  last_serial_ = 0;
}

void MappingBudget::rank(const registry::Registry& registry, std::uint32_t (*pages)(std::uint64_t bytes)) {
  std::int64_t by_magnitude[65] = {};  // mappings wanted by live tensors of 2^(i-1) to 2^i - 1 bytes
  const std::uint32_t limit = registry.slot_limit();
  for (std::uint32_t i = 1; i < limit; ++i) {
    const registry::Tensor& tensor = registry.at(TensorSlot{i});
    if (!tensor.own_pages || tensor.address.load(std::memory_order_acquire) == 0) continue;
    by_magnitude[std::bit_width(tensor.bytes)] += mappings(pages(tensor.bytes));
  }
  std::int64_t room = left_.load(std::memory_order_relaxed) / 4 * 3;
  marginal_ = 64;
  while (marginal_ > 0 && by_magnitude[marginal_] <= room) {
    room -= by_magnitude[marginal_];
    --marginal_;
  }
  left_for_marginal_.store(room, std::memory_order_relaxed);
  last_serial_ = registry.last_serial();
}

bool MappingBudget::take(const registry::Tensor& tensor, std::uint32_t pages) {
  const std::int64_t cost = mappings(pages);
  const int magnitude = static_cast<int>(std::bit_width(tensor.bytes));
  if (magnitude <= marginal_ && tensor.serial.value <= last_serial_) {
    if (magnitude < marginal_) return false;
    if (left_for_marginal_.fetch_sub(cost, std::memory_order_relaxed) < cost) return false;
  }
  if (left_.fetch_sub(cost, std::memory_order_relaxed) >= cost) return true;
  left_.fetch_add(cost, std::memory_order_relaxed);
  return false;
}

void MappingBudget::refund(std::uint32_t pages) { left_.fetch_add(mappings(pages), std::memory_order_relaxed); }

void MappingBudget::exhaust() {
  // Far below zero, so that refunds of tensors being freed do not bring it back.
  left_.store(std::numeric_limits<std::int64_t>::min() / 2, std::memory_order_relaxed);
}

}  // namespace hearth::access
