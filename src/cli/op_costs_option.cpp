#include "cli/op_costs_option.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/commands.h"
#include "report/layout.h"

namespace hearth::cli {

OpCosts::OpCosts(const OpCostsOptions& options, const tier::Machine& machine) : use_(options.use), machine_(machine) {
  if (options.path.empty()) return;
  Result<costs::CostFile> read = costs::read_costs(options.path);
  if (!read) fail(kFailed, read.error());
  if (const std::string why = costs::foreign(*read, machine); !why.empty()) fail(kFailed, options.path + ": " + why);
  costs_ = std::move(*read);
  given_ = true;
}

void OpCosts::apply(const profile::Profile& profile, simulate::Workload& workload) {
  if (!given_) return;
  applied_ = costs::apply(profile, machine_, costs_.table, use_, workload);
  if (applied_.additive + applied_.exact + applied_.own == 0) {
    fmt::print(stderr, "hearth: none of the trace's ops was measured: is it of another program, or other sizes?\n");
  }
}

std::string OpCosts::text() const {
  if (!given_) return "";
  return fmt::format(
      "op costs     measured: {} ops additive, {} exact; by the roofline: {} of measured own time, {} not measured, "
      "{} too small\n",
      report::count_text(applied_.additive), report::count_text(applied_.exact), report::count_text(applied_.own),
      report::count_text(applied_.unmeasured), report::count_text(applied_.small));
}

nlohmann::ordered_json OpCosts::json() const {
  if (!given_) return nullptr;
  return {{"additive", applied_.additive},
          {"exact", applied_.exact},
          {"own", applied_.own},
          {"unmeasured", applied_.unmeasured},
          {"small", applied_.small}};
}

void add_op_costs_options(CLI::App& command, OpCostsOptions& options) {
  command.add_option("--op-costs", options.path, "of autotm: what ops were measured to take (hearth profile-ops)");
  static const std::map<std::string, costs::Use> kForms = {
      {"measured", costs::Use::measured}, {"additive", costs::Use::additive}, {"roofline", costs::Use::roofline}};
  command
      .add_option_function<std::string>(
          "--op-form", [&options](const std::string& text) { options.use = kForms.at(text); },
          "of those costs: measured (default: exact where ops are not additive), additive, or roofline: own times "
          "alone")
      ->check(CLI::IsMember({"measured", "additive", "roofline"}));
}

}  // namespace hearth::cli
