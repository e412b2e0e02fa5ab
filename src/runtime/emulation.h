// Emulation: an op takes as long as its operands' memory would have taken it on the emulated machine, fast or slow.
// What of them lies where is looked up in the books when they are announced, and what the books do not know counts for
// nothing; when the op ends, the thread waits until the roofline's time is over (tier/charge.h, charges.h).
//
// Hot; each thread has its own open ops. Called for every op while a slow tier is emulated, by the marks.
#pragma once

#include <cstdint>

namespace hearth::runtime {

void begin_charge(std::uint32_t depth);
// An operand of the innermost op: `bytes` of a storage of `storage_bytes`.
void charge_operand(const void* storage, std::uint64_t storage_bytes, std::uint64_t bytes, std::uint32_t access);
// `rows` rows of `row_bytes` each, anywhere in the storage.
void charge_gather(const void* storage, std::uint64_t storage_bytes, std::uint64_t rows, std::uint64_t row_bytes,
                   std::uint32_t access);
// Scratch: a tensor that an op allocates and frees itself is no operand; it is written once and read once.
void charge_allocated(const void* tensor);
void charge_freed(const void* tensor, std::uint64_t bytes);
// Waits, where there is something to wait for.
void end_charge(std::uint32_t depth);

}  // namespace hearth::runtime
