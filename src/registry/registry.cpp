#include "registry/registry.h"

#include "platform/os_memory.h"

namespace hearth::registry {

namespace {

constexpr std::uintptr_t kStartStep = std::uintptr_t{1} << StartTable::kAlignmentBits;
constexpr std::uintptr_t kPageMask = (std::uintptr_t{1} << PageTree::kPageBits) - 1;
constexpr std::uintptr_t kAddressEnd = std::uintptr_t{1} << PageTree::kAddressBits;
constexpr std::uint64_t kIndexMask = 0xffffffffu;
constexpr std::uint64_t kTagStep = std::uint64_t{1} << 32;

static_assert(Registry::kMaxCapacity < (1u << StartTable::kSlotBits));

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// The pages whose first byte lies in [address, address + bytes).
struct Pages {
  std::uintptr_t first;
  std::uintptr_t end;
};

Pages pages_of(std::uintptr_t address, std::uint64_t bytes) {
  return {(address + kPageMask) >> PageTree::kPageBits, (address + bytes + kPageMask) >> PageTree::kPageBits};
}

// A find may look at a slot that is being filled for its next tensor: what it reads there is accessed atomically.
std::atomic_ref<std::uint64_t> shared_bytes(Tensor& tensor) { return std::atomic_ref<std::uint64_t>(tensor.bytes); }
std::atomic_ref<std::uint32_t> shared_serial(Tensor& tensor) {
  return std::atomic_ref<std::uint32_t>(tensor.serial.value);
}

}  // namespace

bool Registry::init(std::uint32_t capacity) {
  if (slots_.load(std::memory_order_acquire) != nullptr) {
    return true;
  }
  capacity_ = capacity < kMaxCapacity ? capacity : kMaxCapacity;
  // Slot 0 means none and is never used. Zeroed memory is a valid Slot.
  void* slots = os::map_zeroed((std::size_t{capacity_} + 1) * sizeof(Slot));
  if (slots == nullptr || !starts_.init(capacity_) || !pages_.init()) {
    return false;
  }
  slots_.store(static_cast<Slot*>(slots), std::memory_order_release);
  return true;
}

TensorSlot Registry::not_tracked() {
  untracked_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

void Registry::fill(Tensor& record, const NewTensor& tensor) {
  std::uint32_t serial = serial_.fetch_add(1, std::memory_order_relaxed) + 1;
  while (serial == 0) {  // after 2^32 tensors: 0 means none
    serial = serial_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  shared_bytes(record).store(tensor.bytes, std::memory_order_relaxed);
  shared_serial(record).store(serial, std::memory_order_relaxed);
  record.op = tensor.op;
  record.iteration = tensor.iteration;
  record.op_index = tensor.op_index;
  record.nth = tensor.nth;
  record.own_pages = tensor.own_pages;
  record.watch.store(0, std::memory_order_relaxed);
  record.address.store(number(tensor.address), std::memory_order_release);
}

TensorSlot Registry::add(const NewTensor& tensor) {
  std::uintptr_t address = number(tensor.address);
  if (slots_.load(std::memory_order_acquire) == nullptr || address == 0 || address % kStartStep != 0 ||
      tensor.bytes == 0 || address >= kAddressEnd || tensor.bytes > kAddressEnd - address) {
    return not_tracked();
  }
  if (std::uint32_t stale = starts_.find(address); stale != 0) [[unlikely]] {
    release(remove(tensor.address));
  }
  Pages pages = pages_of(address, tensor.bytes);
  std::uint32_t index = pages_.prepare(pages.first, pages.end) ? take_slot() : 0;
  if (index == 0) {
    return not_tracked();
  }
  fill(slot(index).tensor, tensor);
  slot(index).live.store(true, std::memory_order_release);
  pages_.assign(pages.first, pages.end, index);
  if (!starts_.insert(address, index)) [[unlikely]] {
    slot(index).live.store(false, std::memory_order_relaxed);
    pages_.forget(pages.first, pages.end);
    give_slot(index);
    return not_tracked();
  }
  return TensorSlot{index};
}

TensorSlot Registry::remove(const void* address) {
  if (slots_.load(std::memory_order_acquire) == nullptr || number(address) % kStartStep != 0 ||
      number(address) - 1 >= kAddressEnd - 1) {
    return {};
  }
  std::uint32_t index = starts_.erase(number(address));
  if (index != 0) {
    slot(index).live.exchange(false, std::memory_order_seq_cst);  // see lives()
    Pages pages = pages_of(number(address), slot(index).tensor.bytes);
    pages_.forget(pages.first, pages.end);
  }
  return TensorSlot{index};
}

void Registry::release(TensorSlot slot) {
  if (slot) {
    give_slot(slot.value);
  }
}

TensorSlot Registry::find_start(const void* address) const {
  if (slots_.load(std::memory_order_acquire) == nullptr || number(address) % kStartStep != 0 ||
      number(address) - 1 >= kAddressEnd - 1) {
    return {};
  }
  return TensorSlot{starts_.find(number(address))};
}

TensorSlot Registry::find(const void* address) const {
  std::uintptr_t wanted = number(address);
  if (slots_.load(std::memory_order_acquire) == nullptr || wanted - 1 >= kAddressEnd - 1) {
    return {};
  }
  std::uint32_t index = pages_.find(wanted >> PageTree::kPageBits);
  if (index != 0 && covers(index, wanted)) {
    return TensorSlot{index};
  }
  // Not the tensor at the page's first byte: the nearest one that begins in this page before the address.
  std::uintptr_t page = wanted & ~kPageMask;
  for (std::uintptr_t start = wanted & ~(kStartStep - 1); start >= page && start != 0; start -= kStartStep) {
    index = starts_.find(start);
    if (index != 0) {
      return covers(index, wanted) ? TensorSlot{index} : TensorSlot{};
    }
  }
  return {};
}

bool Registry::covers(std::uint32_t index, std::uintptr_t address) const {
  Slot& candidate = slot(index);
  bool live = candidate.live.load(std::memory_order_acquire);
  std::uintptr_t start = candidate.tensor.address.load(std::memory_order_acquire);
  std::uint64_t bytes = shared_bytes(candidate.tensor).load(std::memory_order_relaxed);
  return live && address - start < bytes;
}

Tensor& Registry::at(TensorSlot slot) { return this->slot(slot.value).tensor; }

const Tensor& Registry::at(TensorSlot slot) const { return this->slot(slot.value).tensor; }

bool Registry::lives(TensorSlot slot, TensorSerial serial) const {
  Slot& candidate = this->slot(slot.value);
  return candidate.live.load(std::memory_order_seq_cst) &&
         shared_serial(candidate.tensor).load(std::memory_order_relaxed) == serial.value;
}

std::uint32_t Registry::slot_limit() const { return limit_.load(std::memory_order_acquire); }

std::uint64_t Registry::untracked() const { return untracked_.load(std::memory_order_relaxed); }

std::uint32_t Registry::last_serial() const { return serial_.load(std::memory_order_relaxed); }

// The slot that was freed last, which is the one most likely in cache, else one that was never used; 0 when full.
std::uint32_t Registry::take_slot() {
  std::uint64_t head = free_.load(std::memory_order_acquire);
  while ((head & kIndexMask) != 0) {
    auto index = static_cast<std::uint32_t>(head & kIndexMask);
    std::uint64_t next = slot(index).next.load(std::memory_order_relaxed);
    std::uint64_t tag = (head & ~kIndexMask) + kTagStep;
    if (free_.compare_exchange_weak(head, tag | next, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return index;
    }
  }
  std::uint32_t fresh = limit_.load(std::memory_order_relaxed);
  do {
    if (fresh > capacity_) {
      return 0;
    }
  } while (!limit_.compare_exchange_weak(fresh, fresh + 1, std::memory_order_acq_rel, std::memory_order_relaxed));
  return fresh;
}

void Registry::give_slot(std::uint32_t index) {
  Slot& freed = slot(index);
  freed.tensor.address.store(0, std::memory_order_release);
  std::uint64_t head = free_.load(std::memory_order_relaxed);
  std::uint64_t replacement = 0;
  do {
    freed.next.store(static_cast<std::uint32_t>(head & kIndexMask), std::memory_order_relaxed);
    replacement = ((head & ~kIndexMask) + kTagStep) | index;
  } while (!free_.compare_exchange_weak(head, replacement, std::memory_order_acq_rel, std::memory_order_relaxed));
}

}  // namespace hearth::registry
