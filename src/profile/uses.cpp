#include "profile/uses.h"

#include <algorithm>
#include <tuple>

#include "profile/op_tree.h"

namespace hearth::profile {
namespace {

hearth_access join(hearth_access a, std::uint8_t b) {
  return static_cast<hearth_access>(static_cast<std::uint8_t>(a) | b);
}

// Uses of one pair, sorted by type and page.
Access merge(std::vector<Use>::const_iterator begin, std::vector<Use>::const_iterator end) {
  Access access;
  access.op = begin->op;
  bool partial = true;
  const Use* last_fault = nullptr;
  for (auto use = begin; use != end; ++use) {
    access.kind = join(access.kind, use->kind);
    if ((use->flags & kOtherThread) != 0) access.flags |= kOtherThread;
    if (use->type == HEARTH_EVENT_OPERAND) {
      access.operand = join(access.operand, use->kind);
      access.bytes = std::max(access.bytes, use->bytes);
      ++access.operands;
      partial = partial && (use->flags & kPartialView) != 0;
    } else if (use->type == HEARTH_EVENT_FAULT) {
      access.fault = join(access.fault, use->kind);
      ++access.faults;
      if (last_fault == nullptr || last_fault->page != use->page) ++access.pages;
      last_fault = &*use;
    } else {
      ++access.samples;
    }
  }
  if (access.operands > 0 && partial) access.flags |= kPartialView;
  return access;
}

// An announcement is covered if it left no fault or sample of its own and a nested op uses the tensor as well: `linear`
// lists what `addmm`, inside it, will touch. With a touch of its own it may be all of the tensor, or a few rows of it,
// as where embedding_dense_backward has filled it with zeros by then: it is handed on if a nested op announces it too.
void mark_covered(std::vector<Access>& accesses, const OpTree& tree, std::vector<Access*>& scratch) {
  scratch.clear();
  for (Access& access : accesses) {
    if (access.op != kOutside) scratch.push_back(&access);
  }
  std::sort(scratch.begin(), scratch.end(),
            [&](const Access* a, const Access* b) { return tree.number(a->op) < tree.number(b->op); });
  const Access* announced = nullptr;  // the next op that does
  for (std::size_t i = scratch.size(); i-- > 0;) {
    Access& outer = *scratch[i];
    const bool own = outer.faults > 0 || outer.samples > 0;
    if (!own && i + 1 < scratch.size() && tree.contains(outer.op, scratch[i + 1]->op)) outer.flags |= kCovered;
    if (own && announced != nullptr && tree.contains(outer.op, announced->op)) outer.flags |= kHandedOn;
    if (outer.operands > 0) announced = &outer;
  }
}

}  // namespace

void UseLog::merge_into(Profile& profile) {
  std::sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) {
    return std::tie(a.tensor, a.op, a.type, a.page) < std::tie(b.tensor, b.op, b.type, b.page);
  });
  const OpTree tree(profile.ops);
  std::vector<Access*> scratch;
  for (auto use = uses_.cbegin(); use != uses_.cend();) {
    Tensor& tensor = profile.tensors[use->tensor];
    const std::uint32_t index = use->tensor;
    while (use != uses_.cend() && use->tensor == index) {
      const auto end = std::find_if(use, uses_.cend(),
                                    [&](const Use& other) { return other.tensor != index || other.op != use->op; });
      tensor.accesses.push_back(merge(use, end));
      use = end;
    }
    mark_covered(tensor.accesses, tree, scratch);
  }
  uses_.clear();
}

}  // namespace hearth::profile
