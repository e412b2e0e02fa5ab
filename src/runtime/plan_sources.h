// Where plans come from: a profile, or a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/profile.h"

namespace hearth::plan {
struct Sequence;
}

namespace hearth::runtime {

// Under the policy in force. `step_ns`: what an iteration takes with everything fast; `slower_moves`: how many times
// as long as the machine says moves take. Null with the reason in `why`.
const plan::Sequence* make_sequence(const profile::Profile& profile, std::uint64_t step_ns, double slower_moves,
                                    char* why, std::size_t capacity);
// Null after one line of why not, and what happens then.
const plan::Sequence* load_plan(const char* knob, const char* path, const char* otherwise);

}  // namespace hearth::runtime
