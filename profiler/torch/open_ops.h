// The ops open on each thread, so that the runtime sees begin and end paired although PyTorch's scopes need not nest:
// a user scope may be left out of order (generators), and TorchScript and communication scopes may end on another
// thread.
//
// Such an op ends, for the runtime, when everything begun inside it has ended, on the thread that began it.
// Called by the callbacks on the op's thread. No lock, no allocation.
#pragma once

#include <atomic>
#include <cstdint>

#include "attach.h"
#include "torch_compat.h"

namespace hearth::adapter {

struct OpenOps {
  static constexpr std::uint32_t kCapacity = 128;  // deeper ops are paired by count alone
  std::uint32_t depth;
  std::uint32_t strays_seen;      // value of g_strays when this thread last looked
  const void* scopes[kCapacity];  // address of the RecordFunction; null: has ended, waits for its inner ops
};

// __thread: unlike thread_local it promises that there is nothing to construct, so using it calls no init function.
extern __thread OpenOps t_open;
extern std::atomic<std::uint32_t> g_strays;  // counts ops that ended on another thread than they began on

// The address of this thread's variable costs a call; hiding where it came from keeps the compiler from asking again.
inline OpenOps& open_ops() {
  OpenOps* open = &t_open;
  __asm__("" : "+r"(open));
  return *open;
}

void close_strays(OpenOps& open);
void end_out_of_order(OpenOps& open, const at::RecordFunction& function);

inline void begin_op(const at::RecordFunction& function, std::uint32_t name) {
  OpenOps& open = open_ops();
  if (g_strays.load(std::memory_order_acquire) != open.strays_seen) close_strays(open);
  if (open.depth < OpenOps::kCapacity) open.scopes[open.depth] = &function;
  ++open.depth;
  g_bridge->op_begin(name, static_cast<std::uint32_t>(function.scope()), function.seqNr());
}

inline bool is_innermost(const at::RecordFunction& function) {
  const OpenOps& open = open_ops();
  return open.depth - 1 < OpenOps::kCapacity && open.scopes[open.depth - 1] == &function;
}

inline void end_op(const at::RecordFunction& function) {
  OpenOps& open = open_ops();
  const std::uint32_t top = open.depth - 1;  // wraps when nothing is open
  const bool hides_ended = top - 1 < OpenOps::kCapacity && open.scopes[top - 1] == nullptr;
  if (top < OpenOps::kCapacity && open.scopes[top] == &function && !hides_ended) {
    open.depth = top;
    g_bridge->op_end();
  } else {
    end_out_of_order(open, function);
  }
}

}  // namespace hearth::adapter
