// UseLog: operands, faults and samples as they came, then merged into one Access per (tensor, op). Part of build().
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

struct Use {
  std::uint32_t tensor = 0;  // index into Profile::tensors
  std::uint32_t op = kOutside;
  std::uint32_t page = 0;
  std::uint8_t type = 0;   // hearth_event_type
  std::uint8_t kind = 0;   // hearth_access
  std::uint8_t flags = 0;  // Access::flags
  std::uint64_t bytes = 0;
};

class UseLog {
 public:
  void add(const Use& use) { uses_.push_back(use); }
  // Fills accesses of all tensors, sorted by op, and marks the covered ones.
  void merge_into(Profile& profile);

 private:
  std::vector<Use> uses_;
};

}  // namespace hearth::profile
