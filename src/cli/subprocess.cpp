#include "cli/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  ~Pipe() {
    if (read_end >= 0) close(read_end);
    close_write_end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write_end() {
    if (write_end >= 0) close(write_end);
    write_end = -1;
  }
};

// False at the end of the stream.
bool append_available(int file, std::string& text) {
  char buffer[4096];
  const ssize_t count = read(file, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Until both streams end; false if the time is up before.
bool collect(const Pipe& out, const Pipe& err, Finished& finished, Clock::time_point deadline) {
  std::array<pollfd, 2> streams = {pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0}};
  std::array<std::string*, 2> texts = {&finished.out, &finished.err};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    poll(streams.data(), streams.size(), static_cast<int>(left));
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].revents != 0 && !append_available(streams[i].fd, *texts[i])) streams[i].fd = -1;
    }
  }
  return true;
}

int spawn(const std::vector<std::string>& command, const Variables& environment, const Pipe& out, const Pipe& err,
          pid_t& child) {
  const std::vector<std::string> entries = as_entries(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  const int error = posix_spawnp(&child, command.front().c_str(), &actions, nullptr, as_pointers(command).data(),
                                 as_pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Finished run_and_capture(const std::vector<std::string>& command, const Variables& environment,
                         std::chrono::seconds timeout) {
  Finished finished;
  Pipe out;
  Pipe err;
  if (out.read_end < 0 || err.read_end < 0) {
    finished.error = errno;
    return finished;
  }
  pid_t child = -1;
  finished.error = spawn(command, environment, out, err, child);
  if (finished.error != 0) return finished;
  out.close_write_end();
  err.close_write_end();
  if (!collect(out, err, finished, Clock::now() + timeout)) {
    finished.timed_out = true;
    kill(child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) finished.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  return finished;
}

std::string describe_end(const Finished& finished) {
  if (finished.error != 0) return std::strerror(finished.error);
  if (finished.timed_out) return "no answer within the time limit";
  if (finished.signal != 0) return fmt::format("killed by signal {} ({})", finished.signal, strsignal(finished.signal));
  return fmt::format("exit status {}", finished.exit_status);
}

}  // namespace hearth::cli
