// What a guarded touch costs on this machine. Under shadow paging it is some twenty times what bare metal asks, so no
// slowdown of a profiled iteration means anything without it.
#include <sys/mman.h>

#include <algorithm>

#include "access/dispositions.h"
#include "access/guard_state.h"
#include "platform/os_clock.h"

namespace hearth::access {

namespace {

constexpr std::size_t kRounds = 33;

std::uint64_t median_round_trip(std::uintptr_t page) {
  std::uint64_t taken[kRounds];
  auto* byte = reinterpret_cast<volatile char*>(page);
  *byte = 0;  // the page's own first touch is not what is measured
  for (std::uint64_t& round : taken) {
    const std::uint64_t begin = os::monotonic_ns();
    if (protect(page, kPageBytes, PROT_NONE) != 0) return 0;
    *byte = 1;
    round = os::monotonic_ns() - begin;
  }
  std::nth_element(taken, taken + kRounds / 2, taken + kRounds);
  return taken[kRounds / 2];
}

}  // namespace

std::uint64_t measure_fault_ns() {
  std::uint64_t blocked = 0;
  raw_sigmask(SIG_BLOCK, nullptr, &blocked);
  if ((blocked & signal_bit(SIGSEGV)) != 0) return 0;
  const bool borrowed = !dispositions::taken(SIGSEGV);
  if (!install_fault_handler()) return 0;
  std::uint64_t result = 0;
  const long page = raw(SYS_mmap, nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page > 0) {
    g_guard.calibration_page.store(static_cast<std::uintptr_t>(page), std::memory_order_relaxed);
    result = median_round_trip(static_cast<std::uintptr_t>(page));
    g_guard.calibration_page.store(0, std::memory_order_relaxed);
    raw(SYS_munmap, page, kPageBytes);
  }
  if (borrowed) dispositions::give_back(SIGSEGV);
  return result;
}

}  // namespace hearth::access
