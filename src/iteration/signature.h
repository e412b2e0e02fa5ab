// Signature of an iteration, and the hash that rolls it up while the iteration runs.
// Called by the detector on the thread that runs the loop. Plain values: no lock, no allocation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hearth::iteration {

enum class Source : std::uint8_t { none, period, optimizer, marks };

struct Signature {
  std::uint64_t ops = 0;    // rolling hash of outermost op ids: the shape of the computation
  std::uint64_t exact = 0;  // rolling hash of the allocations' sizes: the shape of its data
  std::uint32_t op_count = 0;
  std::uint32_t allocation_count = 0;
  bool operator==(const Signature&) const = default;
};

// One multiplication per value, sensitive to order. The odd constant is 2^64 / golden ratio.
constexpr std::uint64_t rolled(std::uint64_t hash, std::uint64_t value) {
  return (std::rotl(hash, 27) ^ (value + 1)) * 0x9E3779B97F4A7C15u;
}

// The two hashes are independent, so that an iteration observed without op marks can still be told by its allocations.
class RunningSignature {
 public:
  void add_op(std::uint32_t name) {
    value_.ops = rolled(value_.ops, name);
    ++value_.op_count;
  }
  void add_allocation(std::size_t bytes) {
    value_.exact = rolled(value_.exact, bytes);
    ++value_.allocation_count;
  }
  void set(const Signature& value) { value_ = value; }
  std::uint64_t events() const { return std::uint64_t{value_.op_count} + value_.allocation_count; }
  Signature take() {
    const Signature taken = value_;
    value_ = {};
    return taken;
  }

 private:
  Signature value_{};
};

}  // namespace hearth::iteration
