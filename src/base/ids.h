// Strong ids, so that one cannot be passed for another (heaptrack's Index<Tag>). All are plain 32-bit values.
#pragma once

#include <compare>
#include <cstdint>

namespace hearth {

template <class Tag>
struct Id {
  std::uint32_t value = 0;
  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Id&) const = default;
};

// Slot of a live tensor in the registry: reused after the tensor is freed. 0 = none.
using TensorSlot = Id<struct TensorSlotTag>;
// Serial number of a tensor: never reused within a process. 0 = none.
using TensorSerial = Id<struct TensorSerialTag>;
// Interned string: op names, module names. 0 = none.
using NameId = Id<struct NameIdTag>;

}  // namespace hearth
