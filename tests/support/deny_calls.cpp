#include "deny_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
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

// 0 if the name is not known.
std::uint32_t number_of(std::string_view name) {
  for (const Call& call : kCalls) {
    if (call.name == name) return call.number;
  }
  return 0;
}

// Empty if one of them is not known.
std::vector<std::uint32_t> parse_calls(std::string_view list) {
  std::vector<std::uint32_t> calls;
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::uint32_t number = number_of(list.substr(0, comma));
    if (number == 0) return {};
    calls.push_back(number);
    if (comma == std::string_view::npos) return calls;
    list.remove_prefix(comma + 1);
  }
}

// Calls of a foreign architecture have other numbers and pass: a 32-bit program is not what is tested.
std::vector<sock_filter> make_filter(const std::vector<std::uint32_t>& calls, std::uint16_t error) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const std::uint32_t call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
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

deny_result deny_calls(const char* calls, const char* error) {
  const std::string_view name = error;
  const std::vector<std::uint32_t> numbers = parse_calls(calls);
  if (numbers.empty() || (name != "EPERM" && name != "ENOSYS")) return deny_bad_words;
  return install(make_filter(numbers, name == "EPERM" ? EPERM : ENOSYS)) ? deny_done : deny_no_filter;
}
