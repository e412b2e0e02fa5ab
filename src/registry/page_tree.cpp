#include "registry/page_tree.h"

#include "platform/os_memory.h"

namespace hearth::registry {

namespace {

// The node, made if it is not there yet; null when the system gives no memory.
template <class Node>
Node* node_at(std::atomic<Node*>& place) {
  Node* node = place.load(std::memory_order_acquire);
  if (node != nullptr) [[likely]] {
    return node;
  }
  auto* fresh = static_cast<Node*>(os::map_zeroed(sizeof(Node)));
  if (fresh == nullptr || place.compare_exchange_strong(node, fresh, std::memory_order_acq_rel)) {
    return fresh;
  }
  return node;
}

}  // namespace

bool PageTree::init() {
  root_ = static_cast<std::atomic<Middle*>*>(os::map_zeroed(sizeof(std::atomic<Middle*>) << kRootBits));
  return root_ != nullptr;
}

bool PageTree::prepare(std::uintptr_t first, std::uintptr_t end) {
  for (std::uintptr_t page = first; page < end; page = part_end(page, end)) {
    Middle* middle = node_at(root_[page >> kMiddleShift]);
    if (middle == nullptr) {
      return false;
    }
    bool whole = part_end(page, end) - page == kLeafPages;
    if (!whole && node_at(middle->regions[(page >> kLeafBits) & kMiddleMask].leaf) == nullptr) {
      return false;
    }
  }
  return true;
}

void PageTree::assign(std::uintptr_t first, std::uintptr_t end, std::uint32_t slot) {
  for (std::uintptr_t page = first; page < end;) {
    std::uintptr_t stop = part_end(page, end);
    Region& region = region_of(page);
    if (stop - page == kLeafPages) {
      region.whole.store(slot, std::memory_order_release);
      page = stop;
      continue;
    }
    Leaf* leaf = region.leaf.load(std::memory_order_relaxed);
    for (; page < stop; ++page) {
      leaf->slots[page & kLeafMask].store(slot, std::memory_order_release);
    }
  }
}

// Whole leaves hide what the leaf says, so they must not stay.
void PageTree::forget(std::uintptr_t first, std::uintptr_t end) {
  std::uintptr_t page = (first + kLeafMask) & ~kLeafMask;
  for (; page + kLeafPages <= end; page += kLeafPages) {
    region_of(page).whole.store(0, std::memory_order_release);
  }
}

}  // namespace hearth::registry
