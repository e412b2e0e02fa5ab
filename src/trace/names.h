// NameTable: interned strings (op names, module names) with small dense ids, lock-free, append-only.
// Thread-safety: intern/text from any thread; no malloc, no lock, no exception. 2 racing interns of one text give one id.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace hearth::trace {

class NameTable {
 public:
  constexpr NameTable() = default;
  bool init(std::uint32_t max_names, std::size_t max_bytes);  // reserves, touches nothing
  NameId intern(std::string_view text);                       // none when full or not initialised
  std::string_view text(NameId id) const;                     // "" for none
  std::uint32_t count() const;                                // ids 1..count() are valid
};

}  // namespace hearth::trace
