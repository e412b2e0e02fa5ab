#include "operators.h"

#include <new>

#include "attach.h"
#include "operator_rules.h"

namespace hearth::adapter {

OperatorSlot g_operators[kOperatorSlots];

namespace {

// The slot of `schema`, taken if need be; null when its neighbourhood is full.
OperatorSlot* slot_of(const c10::FunctionSchema* schema) {
  const std::uint32_t home = operator_hash(schema);
  for (std::uint32_t probe = 0; probe < kOperatorProbes; ++probe) {
    OperatorSlot& slot = g_operators[(home + probe) % kOperatorSlots];
    const c10::FunctionSchema* owner = slot.schema.load(std::memory_order_acquire);
    if (owner == schema) return &slot;
    if (owner == nullptr) {
      if (slot.schema.compare_exchange_strong(owner, schema, std::memory_order_acq_rel)) return &slot;
      if (owner == schema) return &slot;
    }
  }
  return nullptr;
}

class Listener final : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle&) override {}
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    OperatorSlot* slot = op.hasSchema() ? slot_of(&op.schema()) : nullptr;
    if (slot == nullptr) return;
    slot->retired.store(true);
    slot->name.store(0);
    slot->rules.store(nullptr);  // leaked: another thread may be reading them
  }
};

}  // namespace

[[gnu::cold, gnu::noinline]] std::uint32_t learn_name(const c10::FunctionSchema& schema) {
  OperatorSlot* slot = slot_of(&schema);
  const bool known = slot != nullptr && !slot->retired.load();
  if (known) {
    const std::uint32_t name = slot->name.load(std::memory_order_relaxed);
    if (name != 0) return name;
  }
  const std::string& text = schema.name();
  const std::uint32_t name = g_bridge->intern(text.data(), text.size());
  if (known) {
    slot->name.store(name);
    if (slot->retired.load()) slot->name.store(0);
  }
  return name;
}

const OperatorRules& rules_of(const c10::FunctionSchema& schema, OperatorRules& storage) {
  OperatorSlot* slot = slot_of(&schema);
  const OperatorRules* rules = slot != nullptr ? slot->rules.load(std::memory_order_acquire) : nullptr;
  if (rules != nullptr) return *rules;
  storage = derive_rules(schema);
  if (slot == nullptr || slot->retired.load()) return storage;
  rules = new (std::nothrow) OperatorRules(storage);
  const OperatorRules* none = nullptr;
  if (rules == nullptr) return storage;
  if (!slot->rules.compare_exchange_strong(none, rules)) {
    delete rules;
    return storage;
  }
  if (slot->retired.load()) slot->rules.store(nullptr);
  return storage;
}

void watch_operator_registrations() {
  // Never deregistered: the adapter stays loaded, and at exit the dispatcher may be gone before our statics.
  new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>()));
}

}  // namespace hearth::adapter
