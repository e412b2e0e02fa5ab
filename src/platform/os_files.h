// Files without stdio: small whole-file reads, complete writes, and new files that appear under their name only when
// they are complete.
//
// Functions return 0 or an errno value. Reads and writes are raw system calls: the library interposes read() and
// write() to guard the user's buffers, and its own must not come back to it.
// Thread-safety: any thread, async-signal-safe, no malloc; a NewFile belongs to one thread. errno preserved.
#pragma once

#include <cstddef>

namespace hearth::os {

// Reads the whole file and ends it with a NUL (length does not count it). EFBIG: it has more than capacity - 1 bytes,
// of which the first were read.
int read_file(const char* path, char* buffer, std::size_t capacity, std::size_t* length);

// The path as it is from the root, whatever folder the program is in later: a relative one goes behind the present
// folder. Length of the result, or 0 if it does not fit or the folder has no name.
std::size_t absolute_path(const char* path, char* out, std::size_t capacity);

// One read, repeated when interrupted; *count == 0 at the end of the file.
int read_some(int file, void* buffer, std::size_t capacity, std::size_t* count);

// All bytes or an error.
int write_all(int file, const void* data, std::size_t bytes);

// A file being written beside its final place. Publish or abandon it.
struct NewFile {
  int file = -1;
  char temporary[4096] = {};
  char path[4096] = {};
};

enum class Existing { keep, replace };

int create(const char* path, NewFile* created);
// Closes it and renames it to its path. With Existing::keep, EEXIST if there is one; the caller then tries again with
// an `other_path` (null: the path given to create), or abandons it.
int publish(NewFile* created, Existing existing, const char* other_path = nullptr);
void abandon(NewFile* created);

}  // namespace hearth::os
