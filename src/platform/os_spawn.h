// A program beside this one, and a folder to talk through.
//
// The program is no child of ours: no wait() of the user's code finds it, no SIGCHLD tells of it, and none of the
// user's files stay open in it. It starts with the lowest priority, in a session of its own, with signals as by
// default.
//
// Functions return 0 or an errno value. Thread-safety: one caller at a time; no malloc. errno preserved.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::os {

// argv[0] is its file. The environment is ours without LD_PRELOAD and HEARTH_*. What it prints goes to `output`.
int start_beside(const char* const* argv, const char* output, std::uint32_t* pid);
// It has not ended.
bool runs(std::uint32_t pid);

// A new folder that nobody else may enter, in TMPDIR or /tmp. `path` gets its name.
int make_private_folder(char* path, std::size_t capacity);
void remove_file(const char* path);
// If it is empty.
void remove_folder(const char* path);
bool is_executable(const char* path);
bool is_readable(const char* path);

}  // namespace hearth::os
