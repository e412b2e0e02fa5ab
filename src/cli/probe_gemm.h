// How fast this machine multiplies float32 matrices: asked of the user's PyTorch, or of a kernel of our own.
//
// Called by `hearth probe` on the main thread; runs the interpreter as a child.
#pragma once

#include <string>

#include "cli/environment.h"
#include "machine/figure.h"

namespace hearth::cli {

struct GemmRate {
  machine::Figure flops;  // FLOP per second, on all processors of this process
  std::string by;         // "PyTorch 2.13.0", or our kernel and why
};

GemmRate measure_gemm_rate(const std::string& python, const Variables& environment, unsigned cores, bool quick);

}  // namespace hearth::cli
