// MappingBudget: how many more mappings the guard may make. A protected page splits its mapping in up to three, and a
// process that reaches vm.max_map_count can no longer map memory at all: malloc then fails with memory free.
//
// Thread-safety: take/refund/exhaust from any thread, also in signal handlers; init by the thread that starts the
// guard.
#pragma once

#include <atomic>
#include <cstdint>

#include "registry/registry.h"

namespace hearth::access {

class MappingBudget {
 public:
  constexpr MappingBudget() = default;

  // `limit` 0: a third of what vm.max_map_count leaves beyond the mappings that the process has now.
  void init(std::uint32_t limit);
  // Where not all live tensors fit, the largest are preferred and a quarter is kept for those yet to be born: sets the
  // magnitude (power of two) of which all are admitted, and how many of the next smaller one.
  // `pages(bytes)` tells how many pages would be guarded.
  void rank(const registry::Registry& registry, std::uint32_t (*pages)(std::uint64_t bytes));

  // For a tensor of which so many pages are to be guarded.
  bool take(const registry::Tensor& tensor, std::uint32_t pages);
  void refund(std::uint32_t pages);
  void exhaust();  // the kernel said no: nothing more until the next init

  static constexpr std::uint32_t mappings(std::uint32_t pages) { return 2 * pages; }

 private:
  std::atomic<std::int64_t> left_{0};
  std::atomic<std::int64_t> left_for_marginal_{0};
  int marginal_ = 0;  // bit width of the sizes of which only some fit; smaller live tensors stay open
  std::uint32_t last_serial_ = 0;
};

}  // namespace hearth::access
