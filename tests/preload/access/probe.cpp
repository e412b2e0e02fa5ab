#include "probe.h"

#include <sys/mman.h>

#include <atomic>

#include "access/guard.h"
#include "preload/owned_signals.h"
#include "preload/real.h"

#define PROBE_EXPORTED __attribute__((visibility("default")))

namespace guard = hearth::access;
using hearth::TensorSlot;

namespace {

constinit hearth::registry::Registry g_registry;
constinit std::atomic<int> g_seen[1024];

void sink(TensorSlot slot, std::uint32_t, hearth_access kind) { g_seen[slot.value % 1024].fetch_or(kind); }

}  // namespace

extern "C" {

PROBE_EXPORTED char* probe_tensor(size_t bytes) {
  g_registry.init(1024);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_registry.add({data, bytes, {}, 0, 0, 0, true});
  return static_cast<char*>(data);
}
PROBE_EXPORTED void probe_free(char* tensor) {
  const TensorSlot slot = g_registry.remove(tensor);
  guard::forget(slot);
  g_registry.release(slot);
}
PROBE_EXPORTED int probe_start(int pages) {
  hearth::real::resolve_all();
  g_registry.init(1024);
  guard::GuardOptions options;
  options.sample_pages = pages != 0;
  options.sample_min_bytes = 1;
  return guard::start(g_registry, options, sink);
}
PROBE_EXPORTED int probe_watch(char* tensor) {
  hearth_watch how;
  std::uint32_t pages = 0;
  const TensorSlot slot = g_registry.find_start(tensor);
  g_seen[slot.value % 1024] = 0;
  return guard::watch(slot, &how, &pages) ? static_cast<int>(pages) : 0;
}
PROBE_EXPORTED void probe_rearm() { guard::rearm(); }
PROBE_EXPORTED void probe_stop() { guard::stop(); }
PROBE_EXPORTED void probe_child() { guard::child_after_fork(); }
PROBE_EXPORTED int probe_active() { return guard::active(); }
PROBE_EXPORTED uint64_t probe_faults() { return guard::stats().faults; }
PROBE_EXPORTED uint64_t probe_kernel_io() { return guard::stats().kernel_io; }
PROBE_EXPORTED uint64_t probe_foreign() { return guard::stats().foreign; }
PROBE_EXPORTED int probe_stolen() { return guard::stats().handler_stolen; }
PROBE_EXPORTED uint64_t probe_fault_ns() { return guard::measure_fault_ns(); }
PROBE_EXPORTED int probe_seen(char* tensor) { return g_seen[g_registry.find_start(tensor).value % 1024]; }
PROBE_EXPORTED int probe_own_signal(int signo, void (*handler)(int)) {
  return hearth::preload::own_signal(signo, handler);
}
PROBE_EXPORTED void probe_disown_signal(int signo) { hearth::preload::disown_signal(signo); }
PROBE_EXPORTED void probe_die_of(int signo) { hearth::preload::die_of(signo); }
}
