#include "cli/library.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

namespace hearth::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kName = "libhearth.so";

Result<fs::path> usable(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::canonical(path, error);
  if (error || access(absolute.c_str(), R_OK) != 0) {
    return Error{path.string() + " cannot be read; set HEARTH_LIBRARY to the path of " + kName};
  }
  // The loader splits LD_PRELOAD at both, and nothing can quote them.
  if (absolute.string().find_first_of(" :") != std::string::npos) {
    return Error{absolute.string() + " cannot be preloaded: its path holds a space or a colon; install it elsewhere, " +
                 "or set HEARTH_LIBRARY to a copy"};
  }
  return absolute;
}

}  // namespace

Result<fs::path> find_library(const std::string& override_path) {
  if (!override_path.empty()) return usable(override_path);
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::vector<fs::path> places = {folder, folder.parent_path() / "lib",
                                        folder.parent_path() / "lib" / HEARTH_MULTIARCH};
  for (const fs::path& place : places) {
    if (fs::exists(place / kName, error)) return usable(place / kName);
  }
  return Error{std::string(kName) + " is not in " + places[0].string() + " nor in " + places[1].string() +
               "; set HEARTH_LIBRARY to its path"};
}

std::vector<Adapter> find_adapters(const fs::path& library) {
  static const std::regex name(R"(libhearth_torch-(\d+)\.(\d+)-abi([01])\.so)");
  std::vector<std::pair<std::pair<int, int>, Adapter>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(library.parent_path(), error)) {
    std::smatch parts;
    const std::string file = entry.path().filename();
    if (!std::regex_match(file, parts, name)) continue;
    found.push_back({{std::atoi(parts[1].str().c_str()), std::atoi(parts[2].str().c_str())},
                     {entry.path(), parts[1].str() + "." + parts[2].str(), parts[3]}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.cxx11_abi) < std::tie(b.first, b.second.cxx11_abi);
  });
  std::vector<Adapter> adapters;
  for (auto& [version, adapter] : found) adapters.push_back(std::move(adapter));
  return adapters;
}

}  // namespace hearth::cli
