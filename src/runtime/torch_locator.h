// Finds the PyTorch of this process: its C10 library, version and allocator flags. Uses the loader only (no Python).
#pragma once

#include <string_view>

#include "runtime/state.h"

namespace hearth::runtime {

struct TorchFound {
  bool loaded = false;
  char c10_path[512] = {};     // of the mapped library
  char version[32] = {};       // "2.13" (major.minor), "" if unknown
  char full_version[64] = {};  // "2.13.0+cpu", or as far as known
};

TorchFound locate_torch();
// Where libhearth.so lies.
std::string_view own_folder();
// Fills the allocator's entry points and flags from the library at found.c10_path. False: no alloc_cpu there.
bool resolve_allocator(const TorchFound& found, TorchAllocator& out);
// A function of that library; null if absent.
void* find_function(const TorchFound& found, const char* mangled);
// Opens the adapter for this PyTorch: `override_path` if not empty, else by version beside libhearth.so, both C++ ABIs
// tried. Null and a sentence in `why` otherwise.
hearth_torch_attach_fn open_adapter(const TorchFound& found, const char* override_path, char* path_out,
                                    std::size_t path_capacity, char* why, std::size_t why_capacity);

}  // namespace hearth::runtime
