// Process: who we are, our environment and our mapping budget, read without libc's own state.
// Thread-safety: any thread, async-signal-safe, no malloc, except that the environment must not be changed meanwhile
// (as for getenv).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::os {

std::uint32_t process_id();  // asks the kernel: right in a forked child
std::uint32_t thread_id();

// False and "" if the system does not tell.
bool host_name(char* buffer, std::size_t capacity);

// The environment variable's value or null. Null for all in set-user-id programs, which must not obey their caller.
const char* environment(const char* name);
// "NAME=value" number `index`, null past the last: to look for misspelt names. Null for all in set-user-id programs.
const char* environment_entry(std::size_t index);

// Mappings (lines of /proc/self/maps) that the process has; 0 if not readable.
std::uint32_t mapping_count();
// vm.max_map_count; the kernel's default if not readable.
std::uint32_t max_mapping_count();

}  // namespace hearth::os
