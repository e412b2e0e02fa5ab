#include "costs/study.h"

#include "costs/cycle.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hearth::costs {

Study::Study(const profile::Profile& profile, const simulate::Workload& workload, const tier::Machine& machine)
    : profile_(profile), workload_(workload), machine_(machine), ops_(keyed_ops(profile, workload, machine)) {
  std::map<OpKey, std::size_t> known;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const auto [at, fresh] = known.try_emplace(ops_[i].key, alike_.size());
    const double self = workload.ops[ops_[i].op].self_ns;
    if (fresh) alike_.push_back({ops_[i].key, {}, self});
    Alike& each = alike_[at->second];
    each.ops.push_back(i);
    each.self_ns = std::min(each.self_ns, self);
  }
  const auto weight = [](const Alike& each) { return each.self_ns * static_cast<double>(each.ops.size()); };
  std::stable_sort(alike_.begin(), alike_.end(), [&](const Alike& a, const Alike& b) { return weight(a) > weight(b); });
}

Form Study::form(const Alike& each, const CostTable& table) const {
  return form_of(each.key, table, machine_, each.self_ns);
}

std::vector<Round> Study::rounds(const CostTable& table) const {
  std::vector<Want> wanted;
  for (std::size_t k = 0; k < alike_.size(); ++k) {
    for (const Mask mask : form(alike_[k], table).missing) wanted.push_back({k, mask});
  }
  // All that is to lie fast together, then all that is to lie slow: else few ops have their neighbors' wishes.
  const auto rank = [&](const Want& want) {
    const std::size_t operands = alike_[want.alike].key.operands.size();
    return want.slow == 0 ? 0 : want.slow == all_slow(operands) ? 1 : 2;
  };
  std::stable_sort(wanted.begin(), wanted.end(), [&](const Want& a, const Want& b) { return rank(a) < rank(b); });
  return choose_rounds(ops_, alike_, std::move(wanted), workload_.objects.size());
}

bool Study::take(const profile::Profile& timed, const Round& round, CostTable& table) const {
  const std::vector<std::uint64_t> times = times_in(timed, profile_);
  if (times.empty()) return false;
  for (const Keyed& op : ops_) {
    Mask mask = 0;
    for (std::size_t i = 0; i < op.objects.size(); ++i) mask |= round[op.objects[i]] ? Mask{1} << i : 0;
    table.add(op.key, mask, static_cast<double>(times[workload_.ops[op.op].of]));
  }
  return true;
}

namespace {

Form narrowed(Form form, Use use) {
  if (form.kind == Kind::unmeasured || use == Use::measured) return form;
  form.kind = use == Use::additive ? Kind::additive : Kind::neither;
  form.table.clear();
  return form;
}

}  // namespace

Applied apply(const profile::Profile& profile, const tier::Machine& machine, const CostTable& table, Use use,
              simulate::Workload& workload) {
  Applied applied;
  const Study study(profile, workload, machine);
  applied.small = workload.ops.size() - study.ops().size();
  for (const Alike& each : study.alike()) {
    const Form form = narrowed(study.form(each, table), use);
    std::size_t& count = form.kind == Kind::unmeasured ? applied.unmeasured
                         : form.kind == Kind::neither  ? applied.own
                         : form.kind == Kind::exact    ? applied.exact
                                                       : applied.additive;
    count += each.ops.size();
    for (const std::size_t index : each.ops) {
      const Keyed& keyed = study.ops()[index];
      simulate::Op& op = workload.ops[keyed.op];
      if (form.kind == Kind::neither) op.self_ns = form.fast_ns;
      if (form.kind == Kind::neither || form.kind == Kind::unmeasured) continue;
      simulate::OpCost cost{{}, form.fast_ns, form.more_ns, form.table};
      for (const std::uint32_t operand : form.operands) cost.objects.push_back(keyed.objects[operand]);
      op.cost = static_cast<std::uint32_t>(workload.costs.size());
      workload.costs.push_back(std::move(cost));
    }
  }
  return applied;
}

}  // namespace hearth::costs
