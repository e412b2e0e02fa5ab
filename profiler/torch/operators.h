// What the adapter knows of each dispatcher operator: its name's id and how it treats its arguments.
//
// Keyed by the address of the operator's schema, which is stable while the operator is registered; a listener at the
// dispatcher retires an address when its operator goes (torch.library does that), after which nothing about that
// address is remembered any more.
//
// name_of and rules_of are called by the callbacks on any thread, without locks on the way of a known operator.
#pragma once

#include <atomic>
#include <cstdint>

#include "torch_compat.h"

namespace hearth::adapter {

// Which data an operator touches itself; one bit per argument or return value, those past the 64th count as read or
// written. Data touched by operators that it calls in turn is theirs.
struct OperatorRules {
  std::uint64_t read = 0;              // arguments read
  std::uint64_t written = 0;           // arguments written; both: updated in place
  std::uint64_t returned_written = 0;  // return values written
  // Bits of `written` that hold only when the boolean argument `training` is true; -1: no such argument.
  std::uint64_t written_in_training = 0;
  int training = -1;
  // Argument of which only the rows are touched that the argument `indices` names; -1: none.
  int gathered = -1;
  int indices = -1;
  int into = -1;  // output argument that must be the gathered one, whose rows are written then
  enum class Row : std::uint8_t {
    slice,          // along dimension 0, by an index tensor or a list of one
    slice_along,    // along the dimension that argument 1 says; told only of 0, since others are no rows
    element,        // one element for each index
    element_along,  // the same along the dimension that argument 1 says
    sparse,         // the slices that a sparse tensor has
    sparse_factor   // the same, and the two arguments may have changed places
  } row = Row::slice;
  bool by_sparse() const { return row == Row::sparse || row == Row::sparse_factor; }
  bool may_gather(std::size_t argument) const {
    const auto is = [argument](int index) { return index >= 0 && static_cast<std::size_t>(index) == argument; };
    return is(gathered) || (row == Row::sparse_factor && is(indices));
  }
  bool touches_nothing() const { return (read | written | returned_written) == 0; }
};

struct alignas(32) OperatorSlot {  // never across two cache lines
  std::atomic<const c10::FunctionSchema*> schema{nullptr};
  std::atomic<std::uint32_t> name{0};  // 0: ask the runtime
  std::atomic<bool> retired{false};
  std::atomic<const OperatorRules*> rules{nullptr};  // null: not derived yet
};

constexpr std::uint32_t kOperatorSlots = 8192;  // PyTorch has about 3,000 operators; a program uses some hundred
constexpr std::uint32_t kOperatorProbes = 32;
extern OperatorSlot g_operators[kOperatorSlots];

inline std::uint32_t operator_hash(const c10::FunctionSchema* schema) {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(schema) >> 4) * 0x9e3779b97f4a7c15u >> 51);
}

std::uint32_t learn_name(const c10::FunctionSchema& schema);
inline std::uint32_t name_of(const c10::FunctionSchema& schema) {
  const OperatorSlot& slot = g_operators[operator_hash(&schema)];
  if (slot.schema.load(std::memory_order_acquire) == &schema) {
    const std::uint32_t name = slot.name.load(std::memory_order_relaxed);
    if (name != 0) return name;
  }
  return learn_name(schema);
}

// `storage` receives rules that cannot be remembered.
const OperatorRules& rules_of(const c10::FunctionSchema& schema, OperatorRules& storage);

// Registers the listener; once, before the first callback.
void watch_operator_registrations();

}  // namespace hearth::adapter
