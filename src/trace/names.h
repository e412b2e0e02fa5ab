// NameTable: interned strings (op names, module names) with small dense ids, lock-free, append-only.
//
// The names stand in an array in the order of their ids; a hash finds them. A name is appended by compare-and-swap on
// the array's first free element; whoever finds an element that the hash does not know yet completes it first, so that
// nobody waits for anybody: a thread may be stopped, or a process forked, at any step.
//
// Thread-safety: intern/text from any thread, also in signal handlers; no malloc, no lock, no exception. Racing interns
// of one text give one id.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace hearth::trace {

class NameTable {
 public:
  static constexpr std::size_t kMaxLength = 0xffff;  // longer texts are cut

  constexpr NameTable() = default;
  bool init(std::uint32_t max_names, std::size_t max_bytes);  // reserves, touches nothing
  NameId intern(std::string_view text);                       // none when full or not initialised
  std::string_view text(NameId id) const;                     // "" for none; data() ends with a NUL
  std::uint32_t count() const;                                // ids 1..count() are valid

 private:
  // Where the text stands: offset << 16 | length. 0: none yet (offset 0 is not used).
  using Place = std::atomic<std::uint64_t>;
  // hash's upper half << 32 | id. 0: free.
  using Bucket = std::atomic<std::uint64_t>;

  std::string_view text_at(std::uint64_t place) const;
  NameId find(std::string_view text, std::uint64_t hash) const;
  std::uint64_t store(std::string_view text);
  void complete(std::uint32_t id, std::uint64_t place);

  Place* places_ = nullptr;  // by id
  Bucket* buckets_ = nullptr;
  char* bytes_ = nullptr;
  std::uint32_t max_names_ = 0;
  std::uint32_t bucket_mask_ = 0;
  std::size_t max_bytes_ = 0;
  std::atomic<std::size_t> used_bytes_{1};
  std::atomic<std::uint32_t> count_{0};  // names that the hash knows
  std::atomic<bool> ready_{false};
};

}  // namespace hearth::trace
