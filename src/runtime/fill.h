// What PyTorch's debugging flags ask of fresh storage. They live inside the function that we replace, so we keep their
// promise for our own blocks: zeros, or the 64-bit pattern of c10::memset_junk. Hot, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/state.h"

namespace hearth::runtime {

inline void fill_as_asked(void* block, std::size_t bytes) {
  if (g.torch.zero_fill != nullptr && *g.torch.zero_fill) [[unlikely]] {
    std::memset(block, 0, bytes);
  } else if (g.torch.junk_fill != nullptr && *g.torch.junk_fill) [[unlikely]] {
    constexpr std::uint64_t kJunk = 0x7fedbeef7fedbeefULL;
    auto* out = static_cast<unsigned char*>(block);
    for (std::size_t i = 0; i < bytes; i += sizeof kJunk) {
      std::memcpy(out + i, &kJunk, bytes - i < sizeof kJunk ? bytes - i : sizeof kJunk);
    }
  }
}

}  // namespace hearth::runtime
