#include "callbacks.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "attach.h"
#include "names.h"
#include "open_ops.h"
#include "operands.h"
#include "operators.h"
#include "optimizer_identity.h"
#include "torch_compat.h"

namespace hearth::adapter {
namespace {

using Context = std::unique_ptr<at::ObserverContext>;
using at::RecordFunction;
using at::RecordScope;

// An open optimizer step; handed from the begin of its scope to the end.
struct Step final : at::ObserverContext {
  Step(std::uint32_t name_, std::uint64_t optimizer_) : name(name_), optimizer(optimizer_) {}
  std::uint32_t name;
  std::uint64_t optimizer;
};

Context begin_step(const RecordFunction& function) {
  constexpr char kPrefix[] = "Optimizer.step#";
  const std::string* text = compat::text_of(function);
  if (text == nullptr || text->compare(0, sizeof kPrefix - 1, kPrefix) != 0) return nullptr;
  Context step(new (std::nothrow) Step(name_of(*text), identify_optimizer()));
  if (const auto* made = static_cast<const Step*>(step.get())) g_bridge->step_begin(made->name, made->optimizer);
  return step;
}

void end_step(const at::ObserverContext& context) {
  const auto& step = static_cast<const Step&>(context);
  g_bridge->step_end(step.name, step.optimizer);
}

Context on_step_begin(const RecordFunction& function) { return begin_step(function); }

void on_step_end(const RecordFunction&, at::ObserverContext* context) {
  if (context != nullptr) end_step(*context);
}

inline void mark_begin(const RecordFunction& function) {
  std::uint32_t name = 0;
  if (const c10::FunctionSchema* schema = compat::schema_of(function)) {
    name = name_of(*schema);
  } else if (const std::string* text = compat::text_of(function)) {
    name = name_of(*text);
  }
  begin_op(function, name);
}

Context on_mark_begin(const RecordFunction& function) {
  if (function.scope() == RecordScope::USER_SCOPE) {
    if (Context step = begin_step(function)) return step;
  }
  mark_begin(function);
  return nullptr;
}

void on_mark_end(const RecordFunction& function, at::ObserverContext* context) {
  if (context != nullptr) return end_step(*context);
  end_op(function);
}

// PyTorch logs an exception of a callback with a backtrace; an operand that cannot be read is not worth that.
Context on_operands_begin(const RecordFunction& function) {
  Context step = on_mark_begin(function);
  const c10::FunctionSchema* schema = compat::schema_of(function);
  if (step != nullptr || schema == nullptr) return step;
  try {
    announce_inputs(function, *schema);
  } catch (...) {
  }
  return nullptr;
}

void on_operands_end(const RecordFunction& function, at::ObserverContext* context) {
  const c10::FunctionSchema* schema = compat::schema_of(function);
  if (context == nullptr && schema != nullptr && is_innermost(function)) {
    try {
      announce_outputs(function, *schema);
    } catch (...) {
    }
  }
  on_mark_end(function, context);
}

at::RecordFunctionCallback callback_for(std::uint32_t level) {
  if (level == HEARTH_LEVEL_STEPS) {
    return at::RecordFunctionCallback(on_step_begin, on_step_end).scopes({RecordScope::USER_SCOPE});
  }
  const bool operands = level == HEARTH_LEVEL_OPERANDS;
  return at::RecordFunctionCallback(operands ? on_operands_begin : on_mark_begin,
                                    operands ? on_operands_end : on_mark_end)
      .needsInputs(operands)
      .needsOutputs(operands)
      .scopes({RecordScope::FUNCTION, RecordScope::BACKWARD_FUNCTION, RecordScope::TORCHSCRIPT_FUNCTION,
               RecordScope::CUSTOM_CLASS, RecordScope::USER_SCOPE, RecordScope::LITE_INTERPRETER,
               RecordScope::STATIC_RUNTIME_OP, RecordScope::STATIC_RUNTIME_MODEL});
}

std::atomic_flag g_changing = ATOMIC_FLAG_INIT;
std::uint32_t g_level = HEARTH_LEVEL_OFF;  // this and the handle: guarded by g_changing
at::CallbackHandle g_handle = at::INVALID_CALLBACK_HANDLE;

void change_level(std::uint32_t level) {
  if (g_handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(g_handle);
  g_handle = at::INVALID_CALLBACK_HANDLE;
  g_level = HEARTH_LEVEL_OFF;
  if (level == HEARTH_LEVEL_OFF) return;
  g_handle = at::addGlobalCallback(callback_for(level));
  g_level = level;
}

bool g_probe_agrees = false;
Context on_probe(const RecordFunction& function) {
  g_probe_agrees = compat::first_word_of_description(function) == function.name();
  return nullptr;
}

}  // namespace

int set_level(std::uint32_t level) {
  if (level > HEARTH_LEVEL_OPERANDS) return EINVAL;
  if (g_changing.test_and_set(std::memory_order_acquire)) return EBUSY;
  int status = 0;
  try {
    if (level != g_level) change_level(level);
  } catch (...) {
    status = EIO;
  }
  g_changing.clear(std::memory_order_release);
  return status;
}

bool layout_matches() {
  constexpr std::size_t kSlack = 512;  // a library built with other flags may have a larger RecordFunction
  alignas(RecordFunction) unsigned char memory[sizeof(RecordFunction) + kSlack] = {};
  g_probe_agrees = false;
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(on_probe).scopes({RecordScope::USER_SCOPE}));
  auto* probe = new (static_cast<void*>(memory)) RecordFunction(RecordScope::USER_SCOPE);
  if (probe->isActive()) probe->before("hearth::probe of the RecordFunction layout");
  probe->~RecordFunction();
  at::removeCallback(handle);
  return g_probe_agrees;
}

}  // namespace hearth::adapter
