// match: which events, ops and tensors of two traces of one program belong together.
//
// Events are aligned by what they are, not by the bytes that they tell. Tensors that the iteration makes belong
// together as their allocations do; those that were there before, as the first events that use them. An event whose
// tensors belong to others counts as alone. Pure; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "profile/trace_file.h"
#include "scale/align.h"
#include "scale/walk.h"

namespace hearth::scale {

struct Match {
  std::vector<std::uint32_t> events;  // of each one of the larger trace: its partner's index, or kAlone
  std::vector<std::uint32_t> ops;     // likewise, numbered as walk() does
  std::unordered_map<std::uint32_t, std::uint32_t> tensors;  // likewise, by serial number; without those that are alone
  std::uint64_t compared = 0;                                // events of both that could have a partner
  std::uint64_t alone = 0;                                   // of them, that have none
};

// An error, in one sentence, where more than a twentieth of the events stays alone.
Result<Match> match(const profile::Trace& small, std::span<const Step> small_steps, const profile::Trace& large,
                    std::span<const Step> large_steps);

}  // namespace hearth::scale
