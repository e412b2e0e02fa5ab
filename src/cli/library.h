// Where the parts of an installed or built Hearth lie: libhearth.so and the adapters beside it.
//
// Called by the commands on the main thread. Looks, never changes anything.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::cli {

struct Adapter {
  std::filesystem::path path;
  std::string torch_version;  // "2.13", as in its name
  std::string cxx11_abi;      // "0" or "1"
};

// Absolute path of the libhearth.so to preload: `override_path` if not empty (HEARTH_LIBRARY), else found beside this
// program (its own folder, ../lib, ../lib/<multiarch>).
Result<std::filesystem::path> find_library(const std::string& override_path);

// libhearth_torch-<version>-abi<0|1>.so in the folder of `library`, in order of version.
std::vector<Adapter> find_adapters(const std::filesystem::path& library);

}  // namespace hearth::cli
