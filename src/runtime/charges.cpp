#include "runtime/charges.h"

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

Charges::Announced& Charges::announced(const void* storage) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage);
  return announced_[(address >> 12 ^ address >> 6) % kAnnounced];
}

void Charges::begin(std::uint32_t depth, std::uint64_t now_ns) {
  if (depth >= kDepth) return;
  Open& open = open_[depth];
  open.begin_ns = now_ns;
  open.inner_ns = 0;
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
