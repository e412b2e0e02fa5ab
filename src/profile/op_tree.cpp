#include "profile/op_tree.h"

#include <algorithm>

namespace hearth::profile {

OpTree::OpTree(std::span<const Op> ops) : number_(ops.size()), last_(ops.size()) {
  // Ops stand in order of their begin, so within one thread that order is the pre-order already; what remains is to
  // pull the threads apart: a counting sort by thread.
  std::vector<std::uint32_t> next;
  for (const Op& op : ops) {
    if (next.size() < op.thread + 2u) next.resize(op.thread + 2u);
    ++next[op.thread + 1u];
  }
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (std::size_t i = 0; i < ops.size(); ++i) last_[i] = number_[i] = next[ops[i].thread]++;
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (ops[i].parent != kNone) last_[ops[i].parent] = std::max(last_[ops[i].parent], last_[i]);
  }
}

}  // namespace hearth::profile
