#include "open_ops.h"

#include <algorithm>

namespace hearth::adapter {

__thread OpenOps t_open;
std::atomic<std::uint32_t> g_strays{0};

namespace {

struct Stray {
  std::atomic<std::uint64_t> thread{0};  // RecordFunction's number of the thread that began the op; 0: free
  std::atomic<const void*> scope{nullptr};
};
constexpr std::uint64_t kBeingWritten = ~std::uint64_t{0};
// An op lost because more strayed at once stays open for the runtime, which bounds its stack.
constexpr std::size_t kMaxStrays = 64;
Stray g_stray_slots[kMaxStrays];

// Ends the innermost op and those that waited for it.
void pop(OpenOps& open) {
  do {
    --open.depth;
    g_bridge->op_end();
  } while (open.depth > 0 && open.depth <= OpenOps::kCapacity && open.scopes[open.depth - 1] == nullptr);
}

bool end_here(OpenOps& open, const void* scope) {
  if (open.depth == 0) return false;
  const std::uint32_t known = std::min(open.depth, OpenOps::kCapacity);
  for (std::uint32_t i = known; i-- > 0;) {
    if (open.scopes[i] != scope) continue;
    if (i + 1 == open.depth) {
      pop(open);
    } else {
      open.scopes[i] = nullptr;
    }
    return true;
  }
  return false;
}

void report_stray(std::uint64_t thread, const void* scope) {
  for (Stray& slot : g_stray_slots) {
    std::uint64_t unused = 0;
    if (!slot.thread.compare_exchange_strong(unused, kBeingWritten)) continue;
    slot.scope.store(scope);
    slot.thread.store(thread);
    g_strays.fetch_add(1, std::memory_order_release);
    return;
  }
}

}  // namespace

[[gnu::cold, gnu::noinline]] void close_strays(OpenOps& open) {
  open.strays_seen = g_strays.load(std::memory_order_acquire);
  const std::uint64_t self = at::RecordFunction::currentThreadId();
  for (Stray& slot : g_stray_slots) {
    if (slot.thread.load() != self) continue;
    const void* scope = slot.scope.load();
    slot.thread.store(0);
    end_here(open, scope);
  }
}

[[gnu::cold, gnu::noinline]] void end_out_of_order(OpenOps& open, const at::RecordFunction& function) {
  if (function.threadId() != at::RecordFunction::currentThreadId()) {
    report_stray(function.threadId(), &function);
  } else if (open.depth > OpenOps::kCapacity) {
    pop(open);
  } else {
    end_here(open, &function);
  }
}

}  // namespace hearth::adapter
