// ModuleResolver: to which nn.Module each op belongs. Part of build().
//
// In forward the innermost open module is the answer. In backward none is open, but PyTorch gives an autograd node the
// sequence number that its forward op carried: the last forward op with that number made the node. The node's module,
// and that of all ops in it and of the engine's scope around it, is its forward op's.
// The one exception: a module entered inside the backward op (recomputation under a checkpoint) wins for what runs in
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/profile.h"

namespace hearth::profile {

class ModuleResolver {
 public:
  // `op` is about to be appended to profile.ops, with `module` the innermost of the `open` modules of its thread.
  void begin(const Op& op, std::uint32_t module, std::size_t open, const Profile& profile);
  // Sets the module of all ops.
  void resolve(Profile& profile) const;

 private:
  struct Origin {
    std::uint32_t module;
    std::size_t open;
    std::uint32_t forward;  // op whose module it inherits, or kNone
  };
  std::vector<Origin> origins_;                              // per op
  std::unordered_map<std::int64_t, std::uint32_t> forward_;  // sequence number -> last forward op that carried it
};

}  // namespace hearth::profile
