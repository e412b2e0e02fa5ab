#include "cli/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"

namespace hearth::cli {

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail(kFailed, "cannot write to standard output");
  }
}

CLI::Validator writable_file() {
  return {[](std::string& path) -> std::string {
            const auto why = [&](const std::string& cause) { return fmt::format("cannot write {}: {}", path, cause); };
            std::filesystem::path folder = std::filesystem::path(path).parent_path();
            if (folder.empty()) folder = ".";
            struct stat facts {};
            if (stat(path.c_str(), &facts) == 0) {
              if (S_ISDIR(facts.st_mode)) return why("it is a directory");
              if (access(path.c_str(), W_OK) != 0) return why(std::strerror(errno));
              if (!S_ISREG(facts.st_mode)) return {};  // a device: nothing is made beside it
            } else if (stat(folder.c_str(), &facts) != 0) {
              return why("its directory does not exist");
            } else if (!S_ISDIR(facts.st_mode)) {
              return why(folder.string() + " is not a directory");
            }
            return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : why(folder.string() + ": " + std::strerror(errno));
          },
          ""};
}

}  // namespace hearth::cli
