#include "runtime/charges.h"

#include <algorithm>

namespace hearth::runtime {
namespace {

void add(tier::Traffic& sum, const tier::Traffic& more) {
  sum.fast_read += more.fast_read;
  sum.fast_write += more.fast_write;
  sum.slow_read += more.slow_read;
  sum.slow_write += more.slow_write;
  sum.gather_ns += more.gather_ns;
  sum.slow_gathered += more.slow_gathered;
}

}  // namespace

// Large tensors begin at multiples of large powers of two: all bits have to tell.
Charges::Announced& Charges::announced(const void* storage) {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(storage) * 0x9e3779b97f4a7c15u;
  return announced_[mixed >> 32 & (kAnnounced - 1)];
}

void Charges::begin(std::uint32_t depth, std::uint64_t now_ns, std::uint64_t moved_ns) {
  if (depth >= kDepth) return;
  Open& open = open_[depth];
  open.begin_ns = now_ns;
  open.inner_ns = 0;
  open.moved_ns = moved_ns;
  open.number = ++ops_;
  open.scratch_traffic = {};
  open.operands = open.allocations = 0;
  for (const void*& tensor : open.scratch) tensor = nullptr;
}

void Charges::operand(std::uint32_t depth, const void* storage, const tier::Traffic& traffic) {
  if (depth >= kDepth) return;
  Open& open = open_[depth];
  if (open.begin_ns == 0) return;
  Announced& last = announced(storage);
  if (last.storage == storage && last.number > open.number) return;  // it returns what an op inside it made
  if (last.storage == storage && last.number == open.number && join(open, storage, traffic)) return;
  last = {storage, open.number};
  for (std::uint32_t around = 0; around < depth; ++around) {
    Open& other = open_[around];
    for (std::uint32_t i = 0; i < other.operands; ++i) {
      if (other.storage[i] == storage) other.traffic[i] = {};
    }
  }
  if (open.operands == kOperands) return;
  open.storage[open.operands] = storage;
  open.traffic[open.operands++] = traffic;
}

// Two operands on one storage, as in x * x: its bytes come from memory once. The larger view counts, as in a profile.
bool Charges::join(Open& open, const void* storage, const tier::Traffic& traffic) {
  for (std::uint32_t i = 0; i < open.operands; ++i) {
    if (open.storage[i] != storage) continue;
    tier::Traffic& known = open.traffic[i];
    known.fast_read = std::max(known.fast_read, traffic.fast_read);
    known.fast_write = std::max(known.fast_write, traffic.fast_write);
    known.slow_read = std::max(known.slow_read, traffic.slow_read);
    known.slow_write = std::max(known.slow_write, traffic.slow_write);
    known.gather_ns = std::max(known.gather_ns, traffic.gather_ns);
    known.slow_gathered = std::max(known.slow_gathered, traffic.slow_gathered);
    return true;
  }
  return false;
}

void Charges::allocated(std::uint32_t depth, const void* tensor) {
  if (depth >= kDepth) return;
  Open& open = open_[depth];
  open.scratch[open.allocations++ % kScratch] = tensor;
}

bool Charges::is_scratch(std::uint32_t depth, const void* tensor) {
  if (depth >= kDepth) return false;
  for (const void*& known : open_[depth].scratch) {
    if (known != tensor) continue;
    known = nullptr;
    return true;
  }
  return false;
}

void Charges::scratch(std::uint32_t depth, const tier::Traffic& traffic) {
  if (depth < kDepth) add(open_[depth].scratch_traffic, traffic);
}

Charges::Bill Charges::end(std::uint32_t depth) const {
  Bill bill;
  if (depth >= kDepth || open_[depth].begin_ns == 0) return bill;
  const Open& open = open_[depth];
  bill.begin_ns = open.begin_ns;
  bill.inner_ns = open.inner_ns;
  bill.moved_ns = open.moved_ns;
  bill.traffic = open.scratch_traffic;
  for (std::uint32_t i = 0; i < open.operands; ++i) add(bill.traffic, open.traffic[i]);
  return bill;
}

void Charges::ended(std::uint32_t depth, std::uint64_t now_ns) {
  if (depth >= kDepth) return;
  Open& open = open_[depth];
  if (depth > 0 && open.begin_ns != 0) open_[depth - 1].inner_ns += now_ns - open.begin_ns;
  open.begin_ns = 0;
}

}  // namespace hearth::runtime
