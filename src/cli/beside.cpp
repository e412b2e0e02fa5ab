#include "cli/beside.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "cli/commands.h"
#include "platform/os_spawn.h"

namespace hearth::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);

}  // namespace

void end_with_process(std::uint32_t pid, std::filesystem::path folder) {
  std::thread([pid, folder = std::move(folder)] {
    while (os::runs(pid)) std::this_thread::sleep_for(kLookEvery);
    // Only what is ours, whatever the folder of the plan may be.
    std::error_code ignored;
    if (folder.empty()) _exit(kFailed);
    for (const char* file : {"trace", "plan.json", "output"}) std::filesystem::remove(folder / file, ignored);
    std::filesystem::remove(folder, ignored);
    _exit(kFailed);
  }).detach();
}

}  // namespace hearth::cli
