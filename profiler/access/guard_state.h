// What the files of the guard share: its one state, the sections that stop() waits for, and opening pages.
// Not for other rooms. Thread-safety: as each function says; nothing here locks, allocates or throws.
#pragma once

#include <atomic>
#include <cstdint>

#include "access/guard.h"
#include "access/mapping_budget.h"
#include "access/page_pool.h"
#include "access/raw_signal.h"

namespace hearth::access {

constexpr std::uintptr_t kPageBytes = 4096;  // the unit of hearth_event::page; start() refuses other kernels

struct GuardState {
  // Kept after stop(): a fault that was on its way meanwhile still finds them.
  std::atomic<registry::Registry*> registry{nullptr};
  std::atomic<FaultSink> sink{nullptr};
  GuardOptions options;
  PagePool pool;
  MappingBudget budget;
  std::uint32_t run_first = 1;  // first pool index of this run
  // From before the first page is armed until the last one is open: longer than g_active, which stop() clears first.
  std::atomic<bool> pages_shut{false};
  std::uint32_t rearms = 0;

  // The addresses ever watched in this run: what lies outside costs two compares.
  std::atomic<std::uintptr_t> low{UINTPTR_MAX};
  std::atomic<std::uintptr_t> high{0};

  std::atomic<std::uint32_t> sections{0};  // threads that may be protecting pages right now

  std::atomic<std::uint64_t> faults{0};
  std::atomic<std::uint64_t> raced{0};
  std::atomic<std::uint64_t> foreign{0};
  std::atomic<std::uint64_t> watched{0};
  std::atomic<std::uint64_t> unwatched_budget{0};
  std::atomic<std::uint64_t> protect_failures{0};
  std::atomic<std::uint64_t> kernel_io{0};
  std::atomic<bool> handler_stolen{false};

  std::atomic<std::uintptr_t> calibration_page{0};  // measure_fault_ns: opened without asking anybody
};

extern GuardState g_guard;

inline void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

// A stretch in which this thread may protect pages. Entered only while the guard is active; stop() and the surrender
// of a stolen handler wait until nobody is inside.
class Section {
 public:
  Section() {
    g_guard.sections.fetch_add(1, std::memory_order_seq_cst);
    entered_ = detail::g_active.load(std::memory_order_seq_cst);
    if (!entered_) leave();
  }
  ~Section() {
    if (entered_) leave();
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  void leave() { g_guard.sections.fetch_sub(1, std::memory_order_release); }
  SignalsBlocked blocked_;
  bool entered_ = false;
};

// 0 or -errno.
long protect(std::uintptr_t page, std::uintptr_t bytes, int protection);

// What becomes of the pages that open_range has opened.
enum class Until { stopped, let_go };

// Opens the guarded pages of a tensor (pool header index) that lie in [low, high): one mprotect from the first to the
// last of them, since all pages between are the tensor's and open. Until::stopped: for good. Until::let_go: counts a
// hold. Reports each page that was protected against `access` to the sink unless access is UNKNOWN. True if the tensor
// has guarded pages there. Any thread, with asynchronous signals blocked.
bool open_range(std::uint32_t header, std::uintptr_t low, std::uintptr_t high, Until until, hearth_access access);

// Index of the word of `page` among those of the tensor, or 0. Any thread, fault handler too.
std::uint32_t find_page(std::uint32_t header, std::uintptr_t page);

void report(TensorSlot slot, std::uintptr_t page, hearth_access access);

// Opens everything watched in this run for good.
void open_all();
// The same in the child of a fork, where pages that other threads were just changing stay BUSY for ever: waits for
// none.
void open_all_in_child();

// fault_handler.cpp
void on_fault(int signo, siginfo_t* info, void* context);
bool install_fault_handler();

}  // namespace hearth::access
