#include "allocator.h"

#include <ATen/EmptyTensor.h>

#include <cerrno>

#include "attach.h"
#include "torch_compat.h"

namespace hearth::adapter {
namespace {

void release(void* pointer) { g_bridge->release(pointer); }

// oneDNN's scratch uses raw_allocate, which demands that data and context are one pointer and the deleter never
// changes.
class BridgeAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) HEARTH_ALLOCATE_CONST override {
    void* data = bytes != 0 ? g_bridge->allocate(bytes) : nullptr;
    // PyTorch does not check for null; its own allocator raises these words.
    TORCH_CHECK(data != nullptr || bytes == 0, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
                bytes, " bytes. Error code 12 (Cannot allocate memory)");
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
#if HEARTH_ALLOCATOR_COPIES
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
#endif
};

}  // namespace

int touch_allocator() {
  try {
    // Below the dispatcher: no mode that is active on this thread (fake tensors, a default device) answers in its
    // place.
    const at::TensorBase tensor = at::detail::empty_cpu({1}, c10::ScalarType::Float);
    return tensor.defined() && tensor.storage().nbytes() != 0 ? 0 : ENOMEM;
  } catch (...) {
    return ENOMEM;
  }
}

int install_allocator() {
  try {
    // Storages that outlive every static object still free through it.
    static BridgeAllocator* const allocator = new BridgeAllocator;
    constexpr std::uint8_t kPriority = 255;
    c10::SetCPUAllocator(allocator, kPriority);
    return c10::GetCPUAllocator() == allocator ? 0 : EIO;
  } catch (...) {
    return EIO;
  }
}

}  // namespace hearth::adapter
