// --op-costs for the commands that plan with autotm: what ops were measured to take, instead of the roofline.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "costs/cost_file.h"
#include "costs/study.h"
#include "profile/profile.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::cli {

struct OpCostsOptions {
  std::string path;
  costs::Use use = costs::Use::measured;
};

class OpCosts {
 public:
  // Of no file: gives no op a cost.
  OpCosts() = default;
  // Fails if the file is none, or was measured on another machine.
  OpCosts(const OpCostsOptions& options, const tier::Machine& machine);

  void apply(const profile::Profile& profile, simulate::Workload& workload);

  // How many ops have which kind of cost; "" and null without a file.
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  bool given_ = false;
  costs::Use use_ = costs::Use::measured;
  tier::Machine machine_;
  costs::CostFile costs_;
  costs::Applied applied_;
};

// --op-costs, --op-form.
void add_op_costs_options(CLI::App& command, OpCostsOptions& options);

}  // namespace hearth::cli
