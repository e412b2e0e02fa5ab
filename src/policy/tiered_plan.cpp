#include "policy/tiered_plan.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "plan/validate.h"
#include "policy/choose.h"

namespace hearth::policy {
namespace {

using plan::Plan;
using plan::Residency;
using simulate::Workload;
using tier::Tier;

constexpr int kRounds = 8;
constexpr std::uint64_t kPage = plan::kPage;

std::uint64_t whole_nanoseconds(double ns) { return static_cast<std::uint64_t>(std::max(ns, 0.0)); }

// The tier of each tensor of the profile: fast unless the choice says slow. Residents in part: see below.
std::vector<Tier> tiers_of(const profile::Profile& profile, const Workload& workload, const Shares& shares) {
  std::vector<Tier> tiers(profile.tensors.size(), Tier::fast);
  for (std::size_t i = 0; i < workload.objects.size(); ++i) {
    if (shares[i] > 0.5F) tiers[workload.objects[i].tensor] = Tier::slow;
  }
  return tiers;
}

// A resident is named by its size and its place among those of its size, in order of birth.
void name_residents(const profile::Profile& profile, const Workload& workload, const Shares& shares,
                    Residency& residency) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < workload.objects.size() && workload.objects[i].resident; ++i) order.push_back(i);
  const auto tensor = [&](std::uint32_t i) -> const profile::Tensor& {
    return profile.tensors[workload.objects[i].tensor];
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return tensor(a).bytes != tensor(b).bytes ? tensor(a).bytes < tensor(b).bytes : tensor(a).serial < tensor(b).serial;
  });
  std::uint32_t nth = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t bytes = tensor(order[i]).bytes;
    nth = i != 0 && tensor(order[i - 1]).bytes == bytes ? nth + 1 : 0;
    const auto share = static_cast<double>(shares[order[i]]);
    if (share <= 0) continue;
    const auto whole = static_cast<double>(workload.objects[order[i]].bytes);
    const std::uint64_t fast = static_cast<std::uint64_t>(whole * (1 - share) / kPage + 0.5) * kPage;
    if (fast >= bytes) continue;
    plan::Stretch stretch;
    stretch.resident = true;
    stretch.index = static_cast<std::uint32_t>(residency.residents.size());
    stretch.offset = fast;
    stretch.bytes = bytes - fast;
    stretch.begin = Tier::slow;
    residency.residents.push_back({bytes, nth});
    residency.stretches.push_back(stretch);
  }
}

void name_arenas(const Plan& plan, Residency& residency) {
  for (std::uint32_t i = 0; i < plan.arenas.size(); ++i) {
    if (plan.arenas[i].tier != Tier::slow || plan.arenas[i].bytes == 0) continue;
    plan::Stretch stretch;
    stretch.index = i;
    stretch.bytes = plan.arenas[i].bytes;
    stretch.begin = Tier::slow;
    residency.stretches.push_back(stretch);
  }
}

// Whole pages that lie fast for the whole iteration.
std::uint64_t fast_pages(const Workload& workload, const Shares& shares, const Plan& plan) {
  double bytes = 0;
  for (std::size_t i = 0; i < workload.objects.size() && workload.objects[i].resident; ++i) {
    bytes += static_cast<double>(workload.objects[i].bytes) * (1 - static_cast<double>(shares[i]));
  }
  std::uint64_t pages = static_cast<std::uint64_t>(bytes / kPage + 1) * kPage;
  for (const plan::Arena& arena : plan.arenas) pages += arena.tier == Tier::fast ? arena.bytes + kPage : 0;
  return pages;
}

plan::Prediction predict(const Workload& workload, const tier::Machine& machine, const Shares& shares,
                         std::uint64_t fast_peak) {
  const simulate::Outcome outcome = simulate::simulate(workload, machine, shares);
  plan::Prediction prediction;
  prediction.step_ns = whole_nanoseconds(outcome.step_ns);
  prediction.all_fast_ns = whole_nanoseconds(workload.step_ns);
  prediction.all_slow_ns = whole_nanoseconds(simulate::simulate(workload, machine, choose_all(workload, 1)).step_ns);
  prediction.fast_peak = fast_peak;
  prediction.fast_average = whole_nanoseconds(outcome.fast_average);
  return prediction;
}

Result<Plan> make(const profile::Profile& profile, const tier::Machine& machine, const TierOptions& options) {
  simulate::WorkloadOptions looked_at;
  looked_at.min_bytes = options.plan.min_bytes;
  looked_at.step_ns = options.step_ns;
  const Workload workload = simulate::make_workload(profile, looked_at);
  auto capacity = static_cast<double>(options.fast_capacity);
  for (int round = 0; round < kRounds; ++round) {
    const Shares shares = choose_sentinel(workload, machine, capacity);
    const std::vector<Tier> tiers = tiers_of(profile, workload, shares);
    plan::PlanOptions how = options.plan;
    how.tier_of = tiers;
    Result<Plan> plan = plan::make_plan(profile, how);
    if (!plan) return plan;
    const std::uint64_t fast = fast_pages(workload, shares, *plan);
    if (fast > options.fast_capacity && round + 1 < kRounds) {
      capacity -= static_cast<double>(fast - options.fast_capacity) * (1 + 0.25 * round);
      capacity = round + 2 == kRounds ? 0 : std::max(capacity, 0.0);  // the last resort: nothing fast
      continue;
    }
    Residency residency;
    residency.policy = "sentinel";
    residency.machine = machine.name;
    residency.fast_capacity = options.fast_capacity;
    name_residents(profile, workload, shares, residency);
    name_arenas(*plan, residency);
    residency.prediction = predict(workload, machine, shares, fast);
    plan->residency = std::move(residency);
    return plan;
  }
  return Error{"no plan: nothing fits the fast memory allowed"};
}

}  // namespace

Result<Plan> tiered_plan(const profile::Profile& profile, const tier::Machine& machine,
                         const TierOptions& options) noexcept {
  try {
    Result<Plan> made = make(profile, machine, options);
    if (!made) return made;
    if (const Result<void> sound = plan::validate(*made); !sound) return Error{"no plan: " + sound.error()};
    return made;
  } catch (const std::exception&) {
    return Error{"out of memory"};
  }
}

}  // namespace hearth::policy
