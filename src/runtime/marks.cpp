#include "runtime/marks.h"

#include <string_view>

#include "base/log.h"
#include "runtime/emulation.h"
#include "runtime/lru.h"
#include "runtime/perf.h"
#include "runtime/phases.h"
#include "runtime/runtime.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

// What was touched since the last mark belongs to the op that was innermost until now, so the pages are protected again
// before the mark is logged.
void rearm_guard() {
  if (access::active() && on_main_thread()) access::rearm();
}

hearth_event make_event(hearth_event_type type, std::uint32_t name) {
  hearth_event event{};
  event.type = static_cast<std::uint8_t>(type);
  event.name = name;
  return event;
}

// The thread that steps is the one that trains. The first to step takes over from the thread that merely allocated
// first; it asks, and takes over itself when the other one does not answer by its own next mark (it is idle then).
void claim_main_thread() {
  const std::uint32_t number = thread_number();
  if (g.main_thread.load(std::memory_order_relaxed) == number) {
    g.stepped.store(true, std::memory_order_relaxed);
    return;
  }
  if (g.stepped.load(std::memory_order_relaxed)) return;
  if (g.requested_main.exchange(number, std::memory_order_relaxed) == number) {
    g.main_thread.store(number, std::memory_order_relaxed);
    g.stepped.store(true, std::memory_order_relaxed);
  }
}

void answer_claim() {
  const std::uint32_t claimant = g.requested_main.load(std::memory_order_relaxed);
  if (claimant == 0 || g.stepped.load(std::memory_order_relaxed)) return;
  if (claimant != t_thread.number) {
    g.main_thread.store(claimant, std::memory_order_relaxed);
    g.stepped.store(true, std::memory_order_relaxed);
  }
}

// In a loop without optimizer a followed plan tells the end by its sizes; its ops, where they are still marked, would
// tell it once more, at another place.
bool ops_tell_ends() { return !managing() || g.detector.source() > iteration::Source::period; }

bool tracking() { return g.mode.load(std::memory_order_relaxed) == Mode::tracking; }

// PyTorch's profiler numbers the scope that it puts around each step ("ProfilerStep#12"): with its number no iteration
// would be like another, and each would take a name.
std::string_view without_number(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && name[end] == '#' ? name.substr(0, end + 1) : name;
}

std::uint32_t intern(const char* text, std::uint64_t length) {
  return g.names.intern(without_number(std::string_view(text, length))).value;
}

void op_begin(std::uint32_t name, std::uint32_t scope, std::int64_t sequence) {
  if (!tracking()) return;
  const std::uint32_t number = thread_number();
  Thread& thread = t_thread;
  if (number == g.main_thread.load(std::memory_order_relaxed)) {
    if (g.requested_main.load(std::memory_order_relaxed) != 0) [[unlikely]]
      answer_claim();
    // Before the op is pushed: when it is the first of a new iteration, it belongs to that one.
    if (ops_tell_ends() && g.detector.op(NameId{name}, thread.depth)) iteration_closed();
  }
  const std::uint32_t depth = thread.depth++;
  if (depth < kMaxOpDepth) {
    thread.ops[depth] = NameId{name};
    thread.scopes[depth] = static_cast<std::uint8_t>(scope);
  }
  ++thread.op_index;
  thread.nth = 0;
  lru_begin_op();
  if (g.tiers.emulating) [[unlikely]]
    begin_charge(depth);
  if (!profiling() && !g.op_times.open) return;
  rearm_guard();
  hearth_event event = make_event(HEARTH_EVENT_OP_BEGIN, name);
  event.scope = static_cast<std::uint8_t>(scope);
  event.value = sequence;
  log_event(event);
}

void op_end() {
  if (!tracking()) return;
  Thread& thread = t_thread;
  if (thread.depth == 0) return;  // began before we watched
  const std::uint32_t depth = --thread.depth;
  thread.nth = 0;
  if (g.tiers.emulating && !profiling()) [[unlikely]]
    end_charge(depth);
  if (g.residence.next_at != Residence::kNever && on_main_thread()) [[unlikely]]
    residency_op_ended();
  if (!profiling() && !g.op_times.open) return;
  if (on_main_thread()) perf::drain();
  rearm_guard();
  hearth_event event = make_event(HEARTH_EVENT_OP_END, depth < kMaxOpDepth ? thread.ops[depth].value : HEARTH_NO_ID);
  event.scope = depth < kMaxOpDepth ? thread.scopes[depth] : std::uint8_t{0};
  log_event(event);
}

void log_operand(const void* storage, std::uint64_t storage_bytes, std::uint64_t bytes, std::uint32_t access,
                 std::uint8_t flags) {
  const TensorSlot slot = g.registry.find(storage);
  if (!slot) {
    g.counters.unknown_operands.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  hearth_event event{};
  event.type = HEARTH_EVENT_OPERAND;
  event.tensor = g.registry.at(slot).serial.value;
  event.bytes = bytes;
  event.access = static_cast<std::uint8_t>(access);
  if (bytes < storage_bytes) flags |= HEARTH_EVENT_FLAG_VIEW;
  event.flags = flags;
  log_event(event);
}

void operand(const void* storage, std::uint64_t storage_bytes, std::uint64_t view_bytes, std::uint32_t access) {
  if (!tracking() || storage == nullptr) return;
  if (g.tiers.emulating) [[unlikely]]
    charge_operand(storage, storage_bytes, view_bytes, access);
  lru_used(storage, storage_bytes, 0);
  if (profiling()) log_operand(storage, storage_bytes, view_bytes, access, 0);
}

void gather(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows, std::uint64_t row_bytes,
            std::uint32_t access) {
  if (!tracking() || storage == nullptr) return;
  if (g.tiers.emulating) [[unlikely]]
    charge_gather(storage, storage_bytes, rows, row_bytes, access);
  lru_used(storage, storage_bytes, rows);
  if (profiling()) log_operand(storage, storage_bytes, rows * row_bytes, access, HEARTH_EVENT_FLAG_GATHER);
}

void step(hearth_event_type type, std::uint32_t name, std::uint64_t optimizer) {
  if (!tracking()) return;
  claim_main_thread();
  if (profiling()) {
    hearth_event event = make_event(type, name);
    event.value = static_cast<std::int64_t>(optimizer);
    log_event(event);
  }
  if (!on_main_thread()) return;
  before_step();
  const bool closed = type == HEARTH_EVENT_STEP_BEGIN ? g.detector.step_begin(optimizer, NameId{name})
                                                      : g.detector.step_end(optimizer, NameId{name});
  if (closed) iteration_closed();
}

void step_begin(std::uint32_t name, std::uint64_t optimizer) { step(HEARTH_EVENT_STEP_BEGIN, name, optimizer); }
void step_end(std::uint32_t name, std::uint64_t optimizer) { step(HEARTH_EVENT_STEP_END, name, optimizer); }

void module_event(hearth_event_type type, std::uint32_t name) {
  if (tracking() && profiling()) log_event(make_event(type, name));
}
void module_enter(std::uint32_t name) { module_event(HEARTH_EVENT_MODULE_ENTER, name); }
void module_exit(std::uint32_t name) { module_event(HEARTH_EVENT_MODULE_EXIT, name); }

void* bridge_allocate(std::uint64_t bytes) { return allocate(bytes); }

void bridge_log(std::uint32_t level, const char* message) { log::write(static_cast<log::Level>(level), message); }

}  // namespace

constinit const hearth_bridge kBridge = {
    HEARTH_BRIDGE_VERSION, sizeof(hearth_bridge), intern,          op_begin, op_end,     operand, step_begin, step_end,
    module_enter,          module_exit,           bridge_allocate, release,  bridge_log, gather};

void mark_begin() {
  if (!tracking()) return;
  claim_main_thread();
  if (on_main_thread()) before_step();
  if (on_main_thread() && g.detector.mark_begin()) iteration_closed();
}

void mark_end() {
  if (!tracking()) return;
  if (on_main_thread()) before_step();
  if (on_main_thread() && g.detector.mark_end()) iteration_closed();
}

}  // namespace hearth::runtime
