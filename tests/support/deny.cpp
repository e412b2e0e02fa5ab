// deny [--errno EPERM|ENOSYS] CALL[,CALL...] -- COMMAND...: runs COMMAND as a container would that forbids these system
// calls; every call of them fails with the error (EPERM if none is given), in COMMAND and in all that it starts.
//
//   CALL  mbind, move_pages, get_mempolicy, set_mempolicy, perf_event_open, userfaultfd
//
// A seccomp filter, set by prctl alone and without privileges: nothing but libc is needed, so it runs in a bare guest
// too. Exits with 64 for a bad command line, 71 where the kernel takes no filter, 127 where COMMAND cannot be started.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the name of this architecture in <linux/audit.h> belongs here"
#endif

struct Call {
  std::string_view name;
  std::uint32_t number;
};

constexpr Call kCalls[] = {
    {"mbind", SYS_mbind},
    {"move_pages", SYS_move_pages},
    {"get_mempolicy", SYS_get_mempolicy},
    {"set_mempolicy", SYS_set_mempolicy},
    {"perf_event_open", SYS_perf_event_open},
    {"userfaultfd", SYS_userfaultfd},
};

struct Options {
  std::uint16_t error = EPERM;
  std::vector<std::uint32_t> calls;
  char** command = nullptr;
};

[[noreturn]] void leave(int status, const char* what, std::string_view detail) {
  std::fprintf(stderr, "deny: %s%.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::_Exit(status);
}

std::uint16_t parse_error(std::string_view name) {
  if (name == "EPERM") return EPERM;
  if (name == "ENOSYS") return ENOSYS;
  leave(64, "--errno is EPERM or ENOSYS, not ", name);
}

std::uint32_t parse_call(std::string_view name) {
  for (const Call& call : kCalls) {
    if (call.name == name) return call.number;
  }
  leave(64, "no call that can be denied: ", name);
}

std::vector<std::uint32_t> parse_calls(std::string_view list) {
  std::vector<std::uint32_t> calls;
  for (;;) {
    const std::size_t comma = list.find(',');
    calls.push_back(parse_call(list.substr(0, comma)));
    if (comma == std::string_view::npos) return calls;
    list.remove_prefix(comma + 1);
  }
}

Options parse(char** arguments) {
  Options options;
  if (*arguments != nullptr && std::string_view(*arguments) == "--errno" && arguments[1] != nullptr) {
    options.error = parse_error(arguments[1]);
    arguments += 2;
  }
  if (arguments[0] == nullptr || arguments[1] == nullptr || std::string_view(arguments[1]) != "--" ||
      arguments[2] == nullptr) {
    leave(64, "usage: deny [--errno EPERM|ENOSYS] CALL[,CALL...] -- COMMAND...", "");
  }
  options.calls = parse_calls(arguments[0]);
  options.command = arguments + 2;
  return options;
}

// Calls of a foreign architecture have other numbers and pass: a 32-bit program is not what is tested.
std::vector<sock_filter> make_filter(const Options& options) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const std::uint32_t call : options.calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | options.error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

// Without privileges the kernel takes a filter only from a process that can gain none, so that no set-user-ID program
// is fooled by it.
bool install(std::vector<sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int, char** arguments) {
  const Options options = parse(arguments + 1);
  if (!install(make_filter(options))) leave(71, "the kernel takes no seccomp filter: ", std::strerror(errno));
  execvp(options.command[0], options.command);
  leave(127, "cannot be started: ", options.command[0]);
}
