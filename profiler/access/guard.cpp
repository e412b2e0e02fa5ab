#include "access/guard.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include <initializer_list>

#include "access/dispositions.h"
#include "access/guard_state.h"
#include "access/page_sampler.h"
#include "access/signal_stack.h"
#include "access/threads.h"

namespace hearth::access {

namespace detail {
constinit std::atomic<bool> g_active{false};
}

constinit GuardState g_guard;

namespace {

constinit const char* g_refusal = "";

bool refuse(const char* cause_and_cure) {
  g_refusal = cause_and_cure;
  return false;
}

std::uint32_t pages_to_guard(std::uint64_t bytes) {
  const GuardOptions& options = g_guard.options;
  if (!options.sample_pages || bytes < options.sample_min_bytes) return 1;
  return PageSample(0, (bytes + kPageBytes - 1) / kPageBytes, options.samples_per_tensor).count();
}

void reset_counters() {
  GuardState& g = g_guard;
  for (auto* counter :
       {&g.faults, &g.raced, &g.foreign, &g.watched, &g.unwatched_budget, &g.protect_failures, &g.kernel_io}) {
    counter->store(0, std::memory_order_relaxed);
  }
  g.handler_stolen.store(false, std::memory_order_relaxed);
}

}  // namespace

bool start(registry::Registry& registry, const GuardOptions& options, FaultSink sink) {
  GuardState& g = g_guard;
  if (active()) return refuse("page guard: already running");
  if (::getauxval(AT_PAGESZ) != kPageBytes) return refuse("page guard: pages of this kernel are not 4 KiB");
  if (!g.pool.init()) return refuse("page guard: no address space for its tables (raise `ulimit -v` or `-d`)");
  if (any_thread_blocks(SIGSEGV)) {
    return refuse(
        "page guard: a thread of the program blocks SIGSEGV (Python's that hand tensors to other processes or dump "
        "tracebacks later do) and would die at a guarded page (unblock it there, or HEARTH_PROFILE=ops)");
  }
  reset_counters();
  g.options = options;
  if (g.options.samples_per_tensor >= PagePool::kMaxPages) g.options.samples_per_tensor = PagePool::kMaxPages - 1;
  g.run_first = g.pool.begin_run();
  g.budget.init(options.max_mappings);
  g.budget.rank(registry, pages_to_guard);
  g.low.store(UINTPTR_MAX, std::memory_order_relaxed);
  g.high.store(0, std::memory_order_relaxed);
  g.registry.store(&registry, std::memory_order_release);
  g.sink.store(sink, std::memory_order_release);
  if (!install_fault_handler()) {
    return refuse("page guard: the kernel does not accept a SIGSEGV handler (a seccomp filter?)");
  }
  take_signal_stack();  // this thread began before anybody could ask
  g.pages_shut.store(true, std::memory_order_relaxed);
  detail::g_active.store(true, std::memory_order_seq_cst);
  g_refusal = "";
  return true;
}

const char* refusal() { return g_refusal; }

void forget(TensorSlot slot) {
  registry::Registry* registry = g_guard.registry.load(std::memory_order_acquire);
  if (registry == nullptr) return;
  registry::Tensor& tensor = registry->at(slot);
  const std::uint32_t header = tensor.watch.load(std::memory_order_seq_cst);  // see watch()
  if (header == 0) return;
  const SignalsBlocked blocked;
  open_range(header, 0, UINTPTR_MAX, Until::stopped, HEARTH_ACCESS_UNKNOWN);
  // stop() may have been faster; only one of us accounts for the pages.
  if (tensor.watch.exchange(0, std::memory_order_acq_rel) == 0) return;
  g_guard.budget.refund(header_pages(g_guard.pool.at(header).load(std::memory_order_relaxed)));
}

void stop() {
  if (!detail::g_active.exchange(false, std::memory_order_seq_cst)) return;
  SignalsBlocked blocked;
  for (Spin spin; g_guard.sections.load(std::memory_order_seq_cst) != 0;) spin.wait();
  const bool stolen = !dispositions::still_ours(SIGSEGV);
  open_all();
  g_guard.pages_shut.store(false, std::memory_order_release);
  if (!stolen) return;
  g_guard.handler_stolen.store(true, std::memory_order_relaxed);
  dispositions::give_back(SIGSEGV);
}

GuardStats stats() {
  const GuardState& g = g_guard;
  const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  GuardStats now;
  now.faults = read(g.faults);
  now.raced = read(g.raced);
  now.foreign = read(g.foreign);
  now.watched = read(g.watched);
  now.unwatched_budget = read(g.unwatched_budget);
  now.protect_failures = read(g.protect_failures);
  now.kernel_io = read(g.kernel_io);
  now.handler_stolen = g.handler_stolen.load(std::memory_order_relaxed);
  return now;
}

void child_after_fork() {
  g_guard.sections.store(0, std::memory_order_relaxed);
  detail::g_active.store(false, std::memory_order_relaxed);
  // Also when another thread of the parent was in the middle of stop().
  if (g_guard.pages_shut.exchange(false, std::memory_order_relaxed)) open_all_in_child();
  dispositions::give_back(SIGSEGV);  // no other thread here whose fault might be on its way
}

}  // namespace hearth::access
