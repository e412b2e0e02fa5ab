#include "profile/modules.h"

namespace hearth::profile {

void ModuleResolver::begin(const Op& op, std::uint32_t module, std::size_t open, const Profile& profile) {
  const auto index = static_cast<std::uint32_t>(profile.ops.size());
  Origin origin{module, open, kNone};
  if (op.scope == kScopeBackward) {
    const auto found = forward_.find(op.sequence);
    if (op.sequence >= 0 && found != forward_.end()) {
      origin.forward = found->second;
      // The engine opens a scope of its own around each node; it carries no sequence number.
      if (op.parent != kNone && profile.ops[op.parent].sequence < 0 &&
          profile.names[profile.ops[op.parent].name].starts_with("autograd::engine::")) {
        origins_[op.parent].forward = found->second;
      }
    }
  } else if (op.sequence >= 0) {
    forward_[op.sequence] = index;
  }
  origins_.push_back(origin);
}

void ModuleResolver::resolve(Profile& profile) const {
  for (std::size_t i = 0; i < profile.ops.size(); ++i) {
    Op& op = profile.ops[i];
    const Origin& origin = origins_[i];
    if (origin.forward != kNone) {
      op.module = profile.ops[origin.forward].module;
    } else if (op.parent == kNone || origin.open > origins_[op.parent].open) {
      op.module = origin.module;
    } else {
      op.module = profile.ops[op.parent].module;
    }
  }
}

}  // namespace hearth::profile
