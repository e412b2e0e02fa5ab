#include "machine/gemm.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "machine/crew.h"

// A version with fused multiply-add beside the plain one; the loader picks what the processor has. By the feature: the
// name of an architecture would leave out other makers' processors that have it.
#if defined(__x86_64__) && defined(__GNUC__)
#define HEARTH_CLONES __attribute__((target_clones("fma", "default")))
#else
#define HEARTH_CLONES
#endif

namespace hearth::machine {
namespace {

using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));

constexpr unsigned kRows = 6;      // times two vectors: what the registers of AVX2 hold
constexpr unsigned kColumns = 16;  // two vectors
constexpr unsigned kSize = 768;
constexpr unsigned kProducts = 4;  // per timed round

// Six rows of A against a packed panel of 16 columns of B.
HEARTH_CLONES void multiply_tile(const float* a, const float* panel, float* c, unsigned columns, unsigned depth) {
  Vector sums[kRows][2] = {};
  for (unsigned k = 0; k < depth; ++k) {
    const auto* const row = reinterpret_cast<const Vector*>(panel + std::size_t{k} * kColumns);
#pragma GCC unroll 6
    for (unsigned i = 0; i < kRows; ++i) {
      sums[i][0] += a[std::size_t{i} * depth + k] * row[0];
      sums[i][1] += a[std::size_t{i} * depth + k] * row[1];
    }
  }
#pragma GCC unroll 6
  for (unsigned i = 0; i < kRows; ++i) {
    auto* const out = reinterpret_cast<Vector*>(c + std::size_t{i} * columns);
    out[0] += sums[i][0];
    out[1] += sums[i][1];
  }
}

}  // namespace

void multiply(const float* a, const float* b, float* c, unsigned rows, unsigned columns, unsigned depth) {
  std::vector<float> panel(std::size_t{depth} * kColumns);
  for (unsigned column = 0; column < columns; column += kColumns) {
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned j = 0; j < kColumns; ++j) panel[k * kColumns + j] = b[std::size_t{k} * columns + column + j];
    }
    for (unsigned row = 0; row < rows; row += kRows) {
      multiply_tile(a + std::size_t{row} * depth, panel.data(), c + std::size_t{row} * columns + column, columns,
                    depth);
    }
  }
}

Figure measure_gemm(unsigned threads, unsigned repeats) {
  constexpr std::size_t kElements = std::size_t{kSize} * kSize;
  std::vector<std::vector<float>> data(threads, std::vector<float>(3 * kElements, 0.5f));
  const auto work = [&](unsigned thread) {
    float* const a = data[thread].data();
    for (unsigned i = 0; i < kProducts; ++i) multiply(a, a + kElements, a + 2 * kElements, kSize, kSize, kSize);
  };
  timed_together(threads, work);  // wakes clocks
  const double flops = 2.0 * kSize * kSize * kSize * kProducts * threads;
  return repeated(repeats, [&] { return flops / timed_together(threads, work); });
}

}  // namespace hearth::machine
