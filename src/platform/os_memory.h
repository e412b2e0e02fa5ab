// Memory from the kernel: the only place where Hearth maps, protects and returns pages.
//
// Addresses and sizes given to commit, protect, discard and the advice functions are page-aligned.
// Functions that return int: 0, or an errno value. Functions that return a pointer: null when the system refuses.
// Thread-safety: any thread, async-signal-safe, no malloc; fork-safe (no lock; the child has copies). errno preserved.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::os {

enum class Protection : std::uint8_t { none, read, read_write };

std::size_t page_size();

// Address space without memory: not accessible, not counted against the commit limit. alignment: a power of two >=
// page.
void* reserve(std::size_t bytes, std::size_t alignment);
// Makes reserved pages usable; they read as zero and take memory when touched.
int commit(void* address, std::size_t bytes);
int protect(void* address, std::size_t bytes, Protection protection);
// Gives the memory of the pages back; they stay usable and read as zero. EINVAL when they are locked in memory.
int discard(void* address, std::size_t bytes);
// Takes the memory now, so that touching it later does not fault.
int prefault(void* address, std::size_t bytes);
int advise_huge(void* address, std::size_t bytes);
int advise_small(void* address, std::size_t bytes);
// Ends a reservation or mapping.
void unmap(void* address, std::size_t bytes);

// Zeroed memory for Hearth's own tables, never given back. Page-sized and larger: a mapping of its own, page-aligned,
// touched lazily (reserve generously). Smaller: carved from a shared block, 64-byte aligned.
void* map_zeroed(std::size_t bytes);

// How much address space RLIMIT_AS leaves; SIZE_MAX when unlimited.
std::size_t address_space_left();
// How much memory that can be written to RLIMIT_DATA leaves, touched or not; SIZE_MAX when unlimited.
std::size_t data_left();
// How much the process has taken; 0 if /proc is not readable.
std::size_t address_space_used();
// Resident memory of the process, bytes; 0 if /proc is not readable.
std::size_t resident_bytes();

}  // namespace hearth::os
