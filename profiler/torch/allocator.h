// PyTorch's CPU allocator: the start-up self-test, and the fallback that takes its place.
// Called by the runtime while it starts, from a PyTorch thread.
#pragma once

namespace hearth::adapter {

// Allocates and frees a tensor of one element the way every CPU tensor is. 0 or ENOMEM.
int touch_allocator();

// From now on new storages come from bridge->allocate and go back to bridge->release. 0 or EIO.
// Seen by less than alloc_cpu's interposition: storages made from Python's Storage classes, and the growth of tensors
// that exist already, stay with PyTorch's own allocator; the memory profiler no longer sees CPU tensors.
int install_allocator();

}  // namespace hearth::adapter
