#include "iteration/history.h"

namespace hearth::iteration {

// Prefix function (Knuth, Morris and Pratt) of the history read backwards: the prefix of length n has the smallest
// period n - border(n), and these periods never shrink as n grows.
std::uint32_t History::repetitions(std::uint32_t least_run, std::uint32_t* scratch,
                                   Repetition (&found)[kMaxRepetitions]) const {
  const std::uint32_t size = this->size();
  if (size < 2) return 0;
  std::uint32_t* border = scratch;
  std::uint32_t count = 0;
  std::uint32_t period = 1;
  border[0] = 0;
  const auto note = [&](std::uint32_t run) {
    if (run >= least_run && run / period >= kRepeats && count < kMaxRepetitions) found[count++] = {period, run};
  };
  for (std::uint32_t n = 1; n < size; ++n) {
    const std::uint32_t name = from_end(n).name;
    std::uint32_t length = border[n - 1];
    while (length > 0 && name != from_end(length).name) length = border[length - 1];
    if (name == from_end(length).name) ++length;
    border[n] = length;
    if (n + 1 - length == period) continue;
    note(n);
    period = n + 1 - length;
    if (period > size / kRepeats) return count;  // too long already, and it only grows
  }
  note(size);
  return count;
}

}  // namespace hearth::iteration
