// Answers to the public C API, from any thread.
#pragma once

#include "hearth/hearth.h"

namespace hearth::runtime {

int public_state();  // hearth_state
int find_tensor(const void* address, hearth_tensor_info* info);
void get_counters(hearth_counters* counters);

}  // namespace hearth::runtime
