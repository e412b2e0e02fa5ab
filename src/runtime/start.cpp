#include "runtime/start.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "access/guard.h"
#include "base/log.h"
#include "base/text.h"
#include "config/parse.h"
#include "platform/os_clock.h"
#include "platform/os_files.h"
#include "platform/os_memory.h"
#include "platform/os_process.h"
#include "runtime/facts.h"
#include "runtime/managed.h"
#include "runtime/marks.h"
#include "runtime/perf.h"
#include "runtime/phases.h"
#include "runtime/runtime.h"
#include "runtime/state.h"
#include "runtime/tiers.h"
#include "runtime/torch_locator.h"

namespace hearth::runtime {

constinit Runtime g;
thread_local constinit Thread t_thread;

namespace {

constinit std::atomic<void* (*)(std::size_t)> torch_alloc{nullptr};
constinit std::atomic<void (*)(void*)> torch_free{nullptr};

constexpr std::uint32_t kMaxTensors = 1U << 20;
constexpr std::uint32_t kMaxNames = 1U << 16;
constexpr std::size_t kNameBytes = std::size_t{8} << 20;
constexpr std::size_t kCAlignment = 64;

// Only for a process in which somebody calls c10::alloc_cpu although no libc10 is mapped.
void* libc_allocate(std::size_t bytes) {
  void* pointer = nullptr;
  return posix_memalign(&pointer, kCAlignment, bytes) == 0 ? pointer : nullptr;
}

void resolve_torch() {
  TorchAllocator found{};
  if (!resolve_allocator(locate_torch(), found)) {
    found.allocate = libc_allocate;
    found.release = ::free;
  }
  torch_free.store(found.release, std::memory_order_release);
  torch_alloc.store(found.allocate, std::memory_order_release);
}

// The child of a fork (DataLoader worker): forwards, frees what it inherited, starts and writes nothing.
void after_fork_in_child() {
  g.forked = true;
  g.mode.store(Mode::forwarding, std::memory_order_release);
  g.phase.store(Phase::observe, std::memory_order_release);
  access::child_after_fork();
  perf::abandon();
  g.tiers.migrator.child_after_fork();
}

bool load_knobs() {
  config::Problems problems{};
  config::load(g.knobs, g.knob_origins, problems, config::process_sources());
  if (!g.knobs.enable) return false;
  char file[config::kPathCapacity] = {};
  if (!g.knobs.log_file.empty()) config::expand_path(g.knobs.log_file.c_str(), file, sizeof file);
  auto level = static_cast<log::Level>(g.knobs.log);
  if (g.knobs.verbose && level < log::Level::info) level = log::Level::info;
  log::init(level, file);
  for (std::uint32_t i = 0; i < problems.count; ++i) {
    log::write(g.knobs.strict ? log::Level::error : log::Level::warn, problems.list[i].text);
  }
  if (g.knobs.strict && problems.count > 0) _exit(config::kStrictExitStatus);
  return true;
}

// The file is read later, when the program may be in another folder.
void anchor_plan() {
  char absolute[config::kPathCapacity];
  if (!plan_file_named() || os::absolute_path(g.knobs.plan.c_str(), absolute, sizeof absolute) == 0) return;
  std::memcpy(g.knobs.plan.text, absolute, sizeof absolute);
}

void echo_knobs() {
  for (const config::KnobRow& row : config::kKnobs) {
    char value[config::kPathCapacity];
    config::format_value(g.knobs, row, value, sizeof value);
    const auto index = static_cast<std::size_t>(&row - config::kKnobs.data());
    log::info(row.name, "=", value, "  (", config::origin_name(g.knob_origins.of[index]), ")");
  }
}

std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<std::size_t>(pages) * os::page_size() : 0;
}

// Address space is free; physical memory is touched lazily. Sixteen times the machine's memory leaves every size class
// room for its own peak.
std::size_t heap_reserve() {
  if (g.knobs.reserve != 0) return g.knobs.reserve;
  constexpr std::size_t kAtLeast = std::size_t{64} << 30;
  const std::size_t wanted = physical_memory() * 16;
  return wanted > kAtLeast ? wanted : kAtLeast;
}

bool reserve_memory() {
  if (!g.registry.init(kMaxTensors) || !g.names.init(kMaxNames, kNameBytes) ||
      !g.detector.init(static_cast<std::uint32_t>(g.knobs.signatures))) {
    return false;
  }
  g.min_bytes = g.knobs.min_size;
  g.heap_ready = g.heap.init(heap_reserve());
  g.heap.keep(plans_wanted() ? arena::Keep::peak : arena::Keep::plenty);
  if (!g.heap_ready) {
    degrade("address space",
            "no range of 64 MiB could be reserved (ulimit -v, -d?); tensors stay with PyTorch's allocator",
            "raise the limit; without it accesses are seen by operands only");
  }
  start_tiers();
  return true;
}

// Tensor storage really comes through the hook: PyTorch allocates one small tensor, the counter must move.
bool storage_comes_through() {
  const std::uint64_t before = g.counters.allocations.load(std::memory_order_relaxed);
  if (g.adapter.touch_allocator() != 0) return false;
  return g.counters.allocations.load(std::memory_order_relaxed) != before;
}

void self_test() {
  g.hook_status = HookStatus::interposed;
  if (storage_comes_through()) return;
  if (g.adapter.install_allocator() == 0 && storage_comes_through()) {
    g.hook_status = HookStatus::registered_allocator;
    degrade("hook", "PyTorch's storage does not come through c10::alloc_cpu; a c10::Allocator was registered instead",
            "storage made before, or by torch.UntypedStorage(n), is not seen");
    return;
  }
  g.hook_status = HookStatus::none;
  stand_aside(
      "tensor storage of this PyTorch does not come through c10::alloc_cpu (another allocator is built in); "
      "running without Hearth");
}

void load_adapter(const TorchFound& found) {
  char why[400];
  const hearth_torch_attach_fn attach =
      open_adapter(found, g.knobs.adapter.c_str(), g.adapter_path, sizeof g.adapter_path, why, sizeof why);
  g.adapter.version = HEARTH_BRIDGE_VERSION;
  g.adapter.size = sizeof g.adapter;
  if (attach == nullptr || attach(&kBridge, &g.adapter) != 0) {
    text::Buffer<sizeof(Degradation::cause)> cause;
    cause << "PyTorch " << (found.full_version[0] != '\0' ? found.full_version : "(unknown version)") << ": "
          << (why[0] != '\0' ? why : "the adapter refused to attach");
    constexpr const char* kCure = "ops are not seen, only allocations; build one with: scripts/setup --torch PYTHON";
    text::Writer(g.adapter_absent, sizeof g.adapter_absent) << cause.view();
    degrade("adapter", cause.c_str(), kCure);
    log::warn(cause.view(), "; ", kCure);
    return;
  }
  g.adapter_attached = true;
  apply_level();
  watch_modules();
  self_test();
}

// Only our entry goes, the user's others stay; the string is edited in place, since setenv would allocate.
void leave_children_alone() {
  char* value = const_cast<char*>(os::environment("LD_PRELOAD"));
  if (value == nullptr) return;
  char* read = value;
  char* write = value;
  while (*read != '\0') {
    const std::size_t length = std::strcspn(read, ": ");
    const std::size_t with_separator = length + (read[length] != '\0' ? 1 : 0);
    const bool ours = memmem(read, length, "libhearth.so", sizeof "libhearth.so" - 1) != nullptr;
    if (!ours) {
      std::memmove(write, read, with_separator);
      write += with_separator;
    }
    read += with_separator;
  }
  *write = '\0';
}

// What tables and the event log come to, most of which is never touched but counts. Where RLIMIT_DATA leaves no
// multiple of it, the program may need it all.
constexpr std::size_t kTables = std::size_t{320} << 20;
constexpr std::size_t kTimesTables = 4;

void start_tracking() {
  const TorchFound found = locate_torch();
  resolve_torch();
  resolve_allocator(found, g.torch);
  text::Writer(g.torch_version, sizeof g.torch_version) << found.full_version;
  if (!found.loaded) {
    g.mode.store(Mode::forwarding, std::memory_order_release);
    return;
  }
  if (os::data_left() < kTimesTables * kTables) {
    stand_aside(
        "ulimit -d leaves less than 1.25 GiB for the program and Hearth's tables; running without Hearth. "
        "Raise the limit");
    return;
  }
  if (!reserve_memory()) {
    stand_aside("no address space for the registry (ulimit -v, -d?); running without Hearth. Raise the limit");
    return;
  }
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  if (!g.knobs.inherit) leave_children_alone();
  g.opened_ns = g.start_ns = os::monotonic_ns();
  g.main_thread.store(thread_number(), std::memory_order_relaxed);
  g.mode.store(Mode::tracking, std::memory_order_release);
  load_adapter(found);
  open_outcome(g.adapter_attached ? "" : g.adapter_absent);
  if (g.mode.load(std::memory_order_relaxed) == Mode::tracking) kSkin.after_start();
}

}  // namespace

std::uint32_t thread_number() {
  Thread& thread = t_thread;
  if (thread.number == 0) [[unlikely]] {
    thread.number = g.threads.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return thread.number;
}

void start() {
  Mode expected = Mode::bootstrap;
  if (!g.mode.compare_exchange_strong(expected, Mode::starting, std::memory_order_acq_rel)) return;
  g.owner_pid = os::process_id();
  if (!load_knobs()) {
    g.hook_status = HookStatus::switched_off;
    g.mode.store(Mode::forwarding, std::memory_order_release);
    return;
  }
  if (g.knobs.verbose) echo_knobs();
  anchor_plan();
  start_tracking();
}

void limit_address_space(std::size_t bytes) {
  if (!g.tiers.on) g.heap.fit_into(bytes);
}

bool may_guard() {
  const Mode mode = g.mode.load(std::memory_order_acquire);
  if (mode == Mode::forwarding) return false;
  if (mode == Mode::tracking) {
    return g.knobs.profile == config::ProfileMode::faults || g.knobs.profile == config::ProfileMode::pages;
  }
  const char* enable = os::environment("HEARTH_ENABLE");
  if (enable == nullptr) return true;
  const config::Parsed parsed = config::parse_bool(enable);
  return parsed.verdict != config::Verdict::ok || parsed.value != 0;
}

void stand_aside(const char* cause_and_cure) {
  log::warn(cause_and_cure);
  g.mode.store(Mode::forwarding, std::memory_order_release);
  access::stop();
  if (g.adapter_attached) g.adapter.set_level(HEARTH_LEVEL_OFF);
}

void* torch_allocate(std::size_t bytes) {
  auto* allocate = torch_alloc.load(std::memory_order_acquire);
  if (allocate == nullptr) [[unlikely]] {
    resolve_torch();
    allocate = torch_alloc.load(std::memory_order_acquire);
  }
  return allocate(bytes);
}

void torch_release(void* pointer) {
  auto* release = torch_free.load(std::memory_order_acquire);
  if (release == nullptr) [[unlikely]] {
    resolve_torch();
    release = torch_free.load(std::memory_order_acquire);
  }
  release(pointer);
}

// Storage normally reaches allocate() within the first call; a PyTorch whose libc10 binds alloc_cpu to itself asks for
// its allocator again and again without ever coming by.
void allocator_requested() {
  constexpr std::uint32_t kPatience = 64;
  static constinit std::atomic<std::uint32_t> requests{0};
  if (g.mode.load(std::memory_order_relaxed) != Mode::bootstrap) return;
  if (requests.fetch_add(1, std::memory_order_relaxed) == kPatience) start();
}

void* torch_function(const char* mangled) { return find_function(locate_torch(), mangled); }

}  // namespace hearth::runtime
