// The environment that a command gives to the program it starts: LD_PRELOAD and HEARTH_* variables, as values.
//
// Called by the commands on the main thread. Pure except for inherited().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

using Variables = std::map<std::string, std::string>;

// The environment of this process.
Variables inherited();

struct PreloadList {
  std::string value;                  // for LD_PRELOAD
  std::vector<std::string> replaced;  // other copies of libhearth.so that were in it
};

// `existing` with `library` first, its other entries in their order. Sanitizer runtimes stay ahead, since they refuse
// to start behind anything; every other libhearth.so goes, since two of them would count each other.
PreloadList preload_first(std::string_view existing, const std::string& library);

// As the shell would need it typed.
std::string shell_quoted(std::string_view text);

// "NAME=value" of all variables, for execvpe.
std::vector<std::string> as_entries(const Variables& variables);

// Pointers into `texts`, ended by null; valid as long as `texts` is.
std::vector<char*> as_pointers(const std::vector<std::string>& texts);

}  // namespace hearth::cli
