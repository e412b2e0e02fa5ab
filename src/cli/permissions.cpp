#include "cli/permissions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "machine/moves.h"
#include "platform/os_clock.h"

namespace hearth::cli {
namespace {

constexpr std::size_t kPage = 4096;

struct Answer {
  int error = 0;
  std::uint64_t value = 0;
};

int error_of(long result) { return result < 0 ? errno : 0; }

void* map_pages(std::size_t pages) {
  void* memory = mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Written by the handler only, which runs on the one thread of the child.
volatile char* g_guarded = nullptr;

void open_page(int, siginfo_t*, void*) { mprotect(const_cast<char*>(g_guarded), kPage, PROT_READ | PROT_WRITE); }

// Median of one protect-fault-open round, or why it does not work.
Answer protect_fault() {
  g_guarded = static_cast<char*>(map_pages(1));
  struct sigaction action = {};
  action.sa_sigaction = open_page;
  action.sa_flags = SA_SIGINFO;
  if (g_guarded == nullptr || sigaction(SIGSEGV, &action, nullptr) != 0) return {errno};
  alarm(5);  // an mprotect that fails inside the handler would fault for ever
  std::vector<std::uint64_t> rounds(201);
  g_guarded[0] = 1;
  for (std::uint64_t& round : rounds) {
    const std::uint64_t begin = os::monotonic_ns();
    if (mprotect(const_cast<char*>(g_guarded), kPage, PROT_NONE) != 0) return {errno};
    g_guarded[0] = 1;
    round = os::monotonic_ns() - begin;
  }
  std::nth_element(rounds.begin(), rounds.begin() + 100, rounds.end());
  return {0, rounds[100]};
}

Answer first_touch() { return {0, static_cast<std::uint64_t>(machine::measure_first_touch(1024, 5).median)}; }

Answer perf_event(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.disabled = 1;
  return {error_of(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC))};
}

Answer perf_page_faults() { return perf_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS); }
Answer perf_hardware() { return perf_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES); }

Answer userfault() { return {error_of(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY))}; }

// The node of a touched page; `move` also asks to move it to where it is.
Answer pages(bool move) {
  void* page = map_pages(1);
  if (page == nullptr) return {errno};
  *static_cast<volatile char*>(page) = 1;
  int status = -1;
  if (syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &status, 0) != 0) return {errno};
  if (status < 0) return {-status};
  const int node = status;
  if (move && syscall(SYS_move_pages, 0, 1UL, &page, &node, &status, MPOL_MF_MOVE) < 0) return {errno};
  return {};
}

Answer query_pages() { return pages(false); }
Answer move_pages() { return pages(true); }

Answer bind_memory() {
  void* page = map_pages(1);
  if (page == nullptr) return {errno};
  // Preferring the local node changes nothing, but passes every check.
  return {error_of(syscall(SYS_mbind, page, kPage, MPOL_PREFERRED, nullptr, 0UL, 0U))};
}

Answer query_policy() {
  int mode = 0;
  return {error_of(syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL))};
}

std::string error_text(int error) {
  text::Buffer<128> text;
  text << text::Errno{error};
  return std::string(text.view());
}

struct Isolated {
  Answer answer;
  int signal = 0;
};

Isolated in_child(Answer (*probe)()) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {{errno}};
  const pid_t child = fork();
  if (child == 0) {
    const Answer answer = probe();
    _exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
  }
  Isolated result;
  if (child < 0) result.answer.error = errno;
  close(ends[1]);
  if (child > 0) {
    if (read(ends[0], &result.answer, sizeof result.answer) != sizeof result.answer) result.answer = {EIO};
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  }
  close(ends[0]);
  return result;
}

struct Probe {
  const char* call;
  Answer (*run)();
  const char* needed_for;
  const char* cure;
};

constexpr const char* kContainerCure = "in a container: --cap-add SYS_NICE, or a seccomp profile that allows it";

constexpr Probe kProbes[] = {
    {"mprotect and SIGSEGV", protect_fault, "accesses seen by faults (HEARTH_PROFILE=faults, pages)",
     "HEARTH_PROFILE=ops sees operands without it"},
    {"perf_event_open, page faults", perf_page_faults, "samples of first touches (HEARTH_PERF=faults)",
     "sysctl kernel.perf_event_paranoid=2; in a container: --cap-add PERFMON"},
    {"perf_event_open, hardware", perf_hardware, "precise memory samples (HEARTH_PERF=precise)",
     "needs a processor whose counters this system passes on (most virtual machines do not)"},
    {"userfaultfd", userfault, "nothing at present: accesses are seen by mprotect", ""},
    {"get_mempolicy", query_policy, "nothing of Hearth's; numactl and other tools ask by it where memory is bound",
     kContainerCure},
    {"mbind", bind_memory, "placing tensors on a tier (HEARTH_TIERS=numa)", kContainerCure},
    {"move_pages, query", query_pages, "proving where pages are, so the numa tiers are off", kContainerCure},
    {"move_pages, move", move_pages, "moving tensors between tiers (HEARTH_TIERS=numa)", kContainerCure},
};

}  // namespace

std::vector<Permission> probe_permissions() {
  std::vector<Permission> permissions;
  for (const Probe& probe : kProbes) {
    const Isolated result = in_child(probe.run);
    Permission permission{probe.call, result.answer.error == 0 && result.signal == 0, "", probe.needed_for, ""};
    if (!permission.permitted) {
      permission.reason =
          result.signal != 0 ? fmt::format("killed by {}", strsignal(result.signal)) : error_text(result.answer.error);
      permission.cure = probe.cure;
    }
    permissions.push_back(permission);
  }
  return permissions;
}

FaultCost measure_fault_cost() {
  const auto measured = [](Answer (*probe)()) {
    const Isolated result = in_child(probe);
    return result.answer.error == 0 && result.signal == 0 ? result.answer.value : 0;
  };
  return {measured(first_touch), measured(protect_fault)};
}

}  // namespace hearth::cli
