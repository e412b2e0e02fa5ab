#include "cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "cli/commands.h"

namespace hearth::cli {

std::vector<std::string> command_line(std::vector<std::string> words, const std::string& command,
                                      const std::string& example) {
  if (words.empty()) fail(kUsage, "no command to run; try: " + example);
  if (words.front().starts_with('-')) {
    fail(kUsage, fmt::format("{} has no option {}; `hearth {} --help` lists them", command, words.front(), command));
  }
  if (std::filesystem::path(words.front()).extension() == ".py") words.insert(words.begin(), "python3");
  return words;
}

Program::Program(const std::vector<std::string>& command, const Variables& environment) {
  const std::vector<std::string> entries = as_entries(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&child_, command.front().c_str(), &actions, &attributes, as_pointers(command).data(),
                                 as_pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return;
  ended_ = true;
  if (error == ENOENT) fail(kNotFound, command.front() + ": command not found");
  fail(kNotExecutable, fmt::format("{}: cannot be run: {}", command.front(), std::strerror(error)));
}

bool Program::reap(int flags) {
  if (ended_) return true;
  const pid_t got = waitpid(child_, &status_, flags);
  ended_ = got == child_ || (got < 0 && errno != EINTR);
  return ended_;
}

bool Program::running() { return !reap(WNOHANG); }

void Program::stop() {
  if (!running()) return;
  stopped_ = true;
  kill(-child_, SIGTERM);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point patience = Clock::now() + std::chrono::seconds(10);
  while (running() && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!running()) return;
  kill(-child_, SIGKILL);
  while (!reap(0)) {
  }
}

std::string Program::failure() const {
  if (stopped_ || !ended_) return "";
  if (WIFSIGNALED(status_)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status_), strsignal(WTERMSIG(status_)));
  }
  return WEXITSTATUS(status_) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(status_));
}

}  // namespace hearth::cli
