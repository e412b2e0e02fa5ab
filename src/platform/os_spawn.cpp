#include "platform/os_spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_kept.h"
#include "base/text.h"
#include "platform/os_clock.h"
#include "platform/os_files.h"
#include "platform/os_memory.h"
#include "platform/os_process.h"

namespace hearth::os {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 10;
constexpr int kMostFiles = 1 << 16;  // closed one by one where the kernel (before 5.9) has no close_range
constexpr int kLowestPriority = 19;
constexpr int kFolderTries = 64;

// Both processes share our memory until the second one is another program: they touch this and their stacks, nothing
// else.
struct Job {
  const char* const* argv;
  const char** environment;
  const char* output;
  char* second_stack;  // its end
  int error;
  std::int32_t pid;
};

void close_users_files() {
  constexpr int kFirst = STDERR_FILENO + 1;
  if (::syscall(SYS_close_range, kFirst, ~0U, 0) == 0) return;
  for (int file = kFirst; file < kMostFiles; ++file) ::close(file);
}

// Descriptors are copies: the files of this process stay as they are.
int become(void* memory) {
  auto* job = static_cast<Job*>(memory);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::setsid();
  ::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(job->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  close_users_files();
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(job->argv[0], const_cast<char* const*>(job->argv), const_cast<char* const*>(job->environment));
  job->error = errno;
  ::_exit(127);
}

// The program's parent, which is gone at once.
int go_between(void* memory) {
  auto* job = static_cast<Job*>(memory);
  job->pid = ::clone(become, job->second_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, job);
  if (job->pid < 0) job->error = errno;
  ::_exit(0);
}

bool unwanted(const char* entry) {
  return std::strncmp(entry, "LD_PRELOAD=", 11) == 0 || std::strncmp(entry, "HEARTH_", 7) == 0;
}

void fill_environment(const char** wanted) {
  for (std::size_t i = 0; const char* entry = environment_entry(i); ++i) {
    if (!unwanted(entry)) *wanted++ = entry;
  }
  *wanted = nullptr;
}

}  // namespace

int start_beside(const char* const* argv, const char* output, std::uint32_t* pid) {
  ErrnoKept kept;
  std::size_t entries = 1;
  while (environment_entry(entries - 1) != nullptr) ++entries;
  const std::size_t page = page_size();
  const std::size_t bytes = (2 * kStack + entries * sizeof(char*) + page - 1) / page * page;
  auto* memory = static_cast<char*>(reserve(bytes, page));
  if (memory == nullptr || commit(memory, bytes) != 0) return ENOMEM;
  Job job{};
  job.argv = argv;
  job.environment = reinterpret_cast<const char**>(memory + 2 * kStack);
  job.output = output;
  job.second_stack = memory + 2 * kStack;
  fill_environment(job.environment);
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  // No handler of the user's runs in a process that shares our memory.
  ::sigprocmask(SIG_SETMASK, &all, &former);
  // Without a signal at its end: one that wait() passes by, but for __WCLONE.
  const int between = ::clone(go_between, memory + kStack, CLONE_VM | CLONE_VFORK, &job);
  if (between < 0) job.error = errno;
  while (between > 0 && ::waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  ::sigprocmask(SIG_SETMASK, &former, nullptr);
  unmap(memory, bytes);
  *pid = static_cast<std::uint32_t>(job.pid);
  return job.error;
}

bool runs(std::uint32_t pid) {
  ErrnoKept kept;
  if (::kill(static_cast<pid_t>(pid), 0) != 0) return errno != ESRCH;
  // Over, but nobody has asked how: in a container the first process often does not.
  text::Buffer<64> path;
  path << "/proc/" << pid << "/stat";
  char content[512];
  std::size_t length = 0;
  if (read_file(path.c_str(), content, sizeof content, &length) != 0) return true;
  const char* name_end = std::strrchr(content, ')');
  return name_end == nullptr || std::strncmp(name_end, ") Z", 3) != 0;
}

int make_private_folder(char* path, std::size_t capacity) {
  ErrnoKept kept;
  const char* where = environment("TMPDIR");
  int error = EEXIST;
  for (int i = 0; error == EEXIST && i < kFolderTries; ++i) {
    text::Writer name(path, capacity);
    name << (where != nullptr && *where == '/' ? where : "/tmp") << "/hearth-" << process_id() << '-' << monotonic_ns();
    if (name.truncated()) return ENAMETOOLONG;
    error = ::mkdir(path, 0700) == 0 ? 0 : errno;
  }
  return error;
}

void remove_file(const char* path) {
  ErrnoKept kept;
  ::unlink(path);
}

void remove_folder(const char* path) {
  ErrnoKept kept;
  ::rmdir(path);
}

bool is_executable(const char* path) {
  ErrnoKept kept;
  return ::access(path, X_OK) == 0;
}

bool is_readable(const char* path) {
  ErrnoKept kept;
  return ::access(path, R_OK) == 0;
}

}  // namespace hearth::os
