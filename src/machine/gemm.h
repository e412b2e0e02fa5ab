// How fast this machine multiplies large float32 matrices, with a kernel of our own: for hosts whose PyTorch cannot be
// asked. Vectors of 256 bits at most: where the processor has wider ones, PyTorch is up to twice as fast.
//
// For measuring; starts threads, allocates.
#pragma once

#include "machine/figure.h"

namespace hearth::machine {

// FLOP per second of so many threads together, each with a product of its own.
Figure measure_gemm(unsigned threads, unsigned repeats);

// C += A B, row-major, for the test of it. rows: a multiple of 6, columns: of 16.
void multiply(const float* a, const float* b, float* c, unsigned rows, unsigned columns, unsigned depth);

}  // namespace hearth::machine
