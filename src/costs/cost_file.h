// The table of costs as a file: docs/op-costs.md draws it. What was measured on one pair of tiers says nothing of
// another, so the file names them.
//
// Allocates; errors are sentences for the user.
#pragma once

#include <string>

#include "base/result.h"
#include "costs/cost_table.h"
#include "tier/machine.h"

namespace hearth::costs {

constexpr int kSchemaVersion = 1;

struct CostFile {
  tier::Machine machine;  // name, and the speeds of both tiers
  bool emulated = false;
  CostTable table;
};

Result<CostFile> read_costs(const std::string& path);
// Through a temporary file.
Result<void> write_costs(const CostFile& costs, const std::string& path);

// Why times measured there cannot be used for this machine; empty if they can.
std::string foreign(const CostFile& costs, const tier::Machine& machine);

}  // namespace hearth::costs
