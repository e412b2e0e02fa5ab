// account_of: the account of a plan, from what the ledger saw of its iteration.
//
// Why a slow object is slow is told by what a policy could have done, not by what it tried, so that all policies'
// plans are told about alike: account_of.cpp has the rules.
//
// Pure; allocates.
#pragma once

#include <cstdint>
#include <span>

#include "plan/account.h"
#include "policy/ledger.h"
#include "policy/residency_of.h"
#include "profile/profile.h"
#include "simulate/schedule.h"
#include "simulate/workload.h"
#include "tier/machine.h"

namespace hearth::policy {

struct AccountInputs {
  const profile::Profile& profile;
  const simulate::Workload& workload;
  const tier::Machine& machine;
  const simulate::Schedule& schedule;
  std::span<const std::uint32_t> stretch_of;  // by piece; kNoStretch
  double step_ns;                             // of the iteration that the ledger saw
};

plan::Account account_of(const AccountInputs& from, const Ledger& ledger);

}  // namespace hearth::policy
