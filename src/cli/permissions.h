// Which system calls Hearth may use here, by making harmless ones, and what a page fault costs.
//
// Called by `hearth info` on the main thread. Every probe runs in a child of its own: a seccomp filter that kills,
// kills that child only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::cli {

struct Permission {
  std::string call;
  bool permitted = false;
  std::string reason;      // why not
  std::string needed_for;  // what is lost without it
  std::string cure;        // where there is one
};

std::vector<Permission> probe_permissions();

struct FaultCost {
  std::uint64_t first_touch_ns = 0;    // of a 4 KiB page of fresh memory; 0 = could not be measured
  std::uint64_t protect_fault_ns = 0;  // mprotect, fault, handler, mprotect, return: one round of HEARTH_PROFILE=faults
};

FaultCost measure_fault_cost();

}  // namespace hearth::cli
