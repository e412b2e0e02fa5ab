#include "machine/bandwidth.h"

#include <cstdint>

#include "machine/area.h"
#include "machine/crew.h"

namespace hearth::machine {
namespace {

using Vector = std::uint64_t __attribute__((vector_size(32), may_alias));

constexpr std::size_t kStep = 256;
constexpr std::size_t kVectors = kStep / sizeof(Vector);

// Keeps the compiler from leaving the loop out, or from making a library call of it that stores past the caches.
template <class T>
void used(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace

void read_all(const char* data, std::size_t bytes) {
  Vector sums[kVectors] = {};
  const auto* from = reinterpret_cast<const Vector*>(data);
  for (const auto* end = from + bytes / sizeof(Vector); from != end; from += kVectors) {
    for (std::size_t i = 0; i < kVectors; ++i) sums[i] ^= from[i];
  }
  used(sums);
}

void write_all(char* data, std::size_t bytes) {
  auto* to = reinterpret_cast<Vector*>(data);
  const Vector value = {1, 2, 3, 4};
  for (const auto* end = to + bytes / sizeof(Vector); to != end; to += kVectors) {
    for (std::size_t i = 0; i < kVectors; ++i) to[i] = value;
    used(*to);
  }
}

void copy_all(char* to, const char* from, std::size_t bytes) {
  auto* target = reinterpret_cast<Vector*>(to);
  const auto* source = reinterpret_cast<const Vector*>(from);
  for (const auto* end = source + bytes / sizeof(Vector); source != end; source += kVectors, target += kVectors) {
    for (std::size_t i = 0; i < kVectors; ++i) target[i] = source[i];
    used(*target);
  }
}

Bandwidth measure_bandwidth(const os::NodeMask& nodes, unsigned threads, std::size_t bytes, unsigned repeats) {
  Bandwidth result;
  result.threads = threads;
  const Area area(bytes, nodes, threads, PageSize::huge);
  result.problem = area.problem();
  if (!result.problem.empty()) return result;
  const std::size_t slice = area.slice_bytes();
  const auto measured = [&](std::size_t counted, const std::function<void(unsigned)>& work) {
    timed_together(threads, work);  // wakes clocks and fills translation caches
    return repeated(repeats, [&] { return static_cast<double>(counted) / timed_together(threads, work); });
  };
  result.read = measured(area.bytes(), [&](unsigned i) { read_all(area.slice(i), slice); });
  result.write = measured(area.bytes(), [&](unsigned i) { write_all(area.slice(i), slice); });
  const std::size_t half = slice / 2;
  result.copy = measured(area.bytes() / 2, [&](unsigned i) { copy_all(area.slice(i), area.slice(i) + half, half); });
  return result;
}

}  // namespace hearth::machine
