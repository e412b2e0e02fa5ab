#include "profile/agreement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/op_kinds.h"
#include "profile/op_tree.h"

namespace hearth::profile {
namespace {

struct Pair {
  const Access* access;
  std::uint32_t number;  // of its op in pre-order
  std::uint32_t last;    // of that op's last descendant
  bool announced;        // and no op inside it announces the same tensor
  bool faulted;
  bool confirmed = false;
  Reason reason = Reason::no_fault;
};

class Comparison {
 public:
  explicit Comparison(const Profile& profile) : profile_(profile), tree_(profile.ops) {}

  void add(const Tensor& tensor);
  Agreement finish();

 private:
  void collect(const Tensor& tensor);
  void confirm_faults();
  void confirm_operands(const Tensor& tensor);
  void count_innermost(const Tensor& tensor);
  void count_outermost();
  void count_kinds(const Pair& pair, std::uint8_t fault);
  Reason fault_reason(const Tensor& tensor, const Access& access) const;
  Reason operand_reason(const Tensor& tensor, const Access& access, std::uint32_t last_faulted_outer) const;
  void count_reason(const Tensor& tensor, const Pair& pair);
  std::uint32_t outer(const Access& access) const {
    return access.op == kOutside ? kOutside : profile_.ops[access.op].outer;
  }

  const Profile& profile_;
  OpTree tree_;
  Agreement result_;
  std::vector<Pair> pairs_;  // of the tensor at hand, in pre-order, outside last
  bool never_announced_ = false;
  std::vector<std::uint32_t> open_;
  std::map<std::pair<Reason, std::uint32_t>, ReasonCount> by_name_;
};

void Comparison::add(const Tensor& tensor) {
  if (tensor.watch == HEARTH_WATCH_NONE) return;
  ++result_.watched;
  collect(tensor);
  confirm_faults();
  confirm_operands(tensor);
  for (Pair& pair : pairs_) {
    if (pair.faulted && !pair.announced && !pair.confirmed) pair.reason = fault_reason(tensor, *pair.access);
  }
  count_innermost(tensor);
  count_outermost();
}

void Comparison::collect(const Tensor& tensor) {
  pairs_.clear();
  for (const Access& access : tensor.accesses) {
    // Operands outside any op do not exist; samples are not part of the comparison.
    if (access.operands == 0 && access.faults == 0) continue;
    const bool outside = access.op == kOutside;
    pairs_.push_back({&access, outside ? kOutside : tree_.number(access.op), outside ? kOutside : tree_.last(access.op),
                      access.operands > 0 && !outside, access.faults > 0});
  }
  std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return a.number < b.number; });
  // at::empty announces what it makes and touches nothing: a library's internal buffer is still one.
  never_announced_ = std::none_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
    return pair.announced && !is_metadata_op(profile_.names[profile_.ops[pair.access->op].name]);
  });
}

// A fault is confirmed by an announcement of its op or of one around it. Looks at all announcements, so it comes before
// the outer ones are dropped in favour of those inside.
void Comparison::confirm_faults() {
  open_.clear();
  for (Pair& pair : pairs_) {
    while (!open_.empty() && open_.back() < pair.number) open_.pop_back();
    if (pair.announced) open_.push_back(pair.last);
    if (!pair.faulted) continue;
    const bool confirmed = !open_.empty();
    if (confirmed)
      ++result_.innermost.confirmed_faults;
    else
      ++result_.innermost.faults_only;
    pair.confirmed = confirmed;
  }
}

void Comparison::confirm_operands(const Tensor& tensor) {
  std::uint32_t next_announced = kOutside;
  for (std::size_t i = pairs_.size(); i-- > 0;) {
    if (!pairs_[i].announced) continue;
    const bool inner = next_announced != kOutside && next_announced <= pairs_[i].last;
    next_announced = pairs_[i].number;
    if (inner) pairs_[i].announced = false;
  }
  std::uint32_t last_faulted_outer = kNone;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    if (pair.announced) {
      std::uint8_t fault = 0;
      bool found = false;
      for (std::size_t j = i; j < pairs_.size() && pairs_[j].number <= pair.last; ++j) {
        if (!pairs_[j].faulted) continue;
        found = true;
        fault |= static_cast<std::uint8_t>(pairs_[j].access->fault);
      }
      pair.confirmed = found;
      if (found) {
        ++result_.innermost.confirmed_operands;
        ++(pair.faulted ? result_.confirmed_same_op : result_.confirmed_nested);
        count_kinds(pair, fault);
      } else {
        ++result_.innermost.operands_only;
        pair.reason = operand_reason(tensor, *pair.access, last_faulted_outer);
      }
    }
    if (pair.faulted) last_faulted_outer = outer(*pair.access);
  }
}

void Comparison::count_kinds(const Pair& pair, std::uint8_t fault) {
  const auto announced = static_cast<std::uint8_t>(pair.access->operand);
  constexpr std::uint8_t kRead = HEARTH_ACCESS_READ, kWrite = HEARTH_ACCESS_WRITE;
  if (announced == HEARTH_ACCESS_UNKNOWN || fault == HEARTH_ACCESS_UNKNOWN) return;
  Kinds& kinds = result_.kinds;
  if (announced == fault)
    ++kinds.same;
  else if ((fault & kWrite) != 0 && (announced & kWrite) == 0)
    ++kinds.write_unannounced;
  else if ((fault & kWrite) == 0 && (announced & kWrite) != 0)
    ++kinds.write_missing;
  else if (announced == kWrite && (fault & kRead) != 0)
    ++kinds.read_before_write;
  else
    ++kinds.read_hidden_by_write;
}

Reason Comparison::fault_reason(const Tensor& tensor, const Access& access) const {
  if (access.op == kOutside || outer(access) == kNone) return Reason::outside_any_op;
  const bool inside = tensor.born < profile_.ops.size() && tensor.dies < profile_.ops.size();
  if (inside && profile_.ops[tensor.born].outer == outer(access) && profile_.ops[tensor.dies].outer == outer(access)) {
    return Reason::scratch;
  }
  if (never_announced_) return Reason::never_announced;
  if ((access.flags & kOtherThread) != 0) return Reason::worker_thread;
  if (profile_.ops[access.op].thread != 0) return Reason::other_thread_op;
  return Reason::not_an_operand;
}

Reason Comparison::operand_reason(const Tensor& tensor, const Access& access, std::uint32_t last_faulted_outer) const {
  const Op& op = profile_.ops[access.op];
  const std::string& name = profile_.names[op.name];
  if (access.bytes == 0) return Reason::empty_operand;
  if (is_metadata_op(name)) return Reason::metadata_only;
  if (op.scope != kScopeFunction || name.starts_with("autograd::engine::")) return Reason::passed_through;
  if (op.outer != kNone && op.outer == last_faulted_outer) return Reason::opened_earlier;
  if ((access.flags & kPartialView) != 0) return Reason::partial_view;
  if (is_sparse_op(name)) return Reason::sparse_access;
  if (tensor.dies < profile_.ops.size() && tree_.contains(access.op, tensor.dies)) return Reason::freed_in_op;
  if (op.thread != 0) return Reason::other_thread_operand;
  return Reason::no_fault;
}

void Comparison::count_reason(const Tensor& tensor, const Pair& pair) {
  const std::uint64_t bytes = pair.access->operands > 0 ? pair.access->bytes : tensor.bytes;
  const std::uint32_t name = pair.access->op == kOutside ? 0 : profile_.ops[pair.access->op].name;
  for (ReasonCount* count : {&result_.reasons[static_cast<std::size_t>(pair.reason)], &by_name_[{pair.reason, name}]}) {
    ++count->pairs;
    count->bytes += bytes;
  }
}

void Comparison::count_innermost(const Tensor& tensor) {
  for (const Pair& pair : pairs_) {
    if (pair.confirmed || (!pair.faulted && !pair.announced)) continue;
    count_reason(tensor, pair);
    if (!by_design(pair.reason)) continue;
    ++(pair.announced ? result_.innermost.operands_only_by_design : result_.innermost.faults_only_by_design);
  }
}

// Pairs of one outermost op stand together, except those outside any, which come last and are compared as one.
void Comparison::count_outermost() {
  Level& level = result_.outermost;
  for (std::size_t i = 0; i < pairs_.size();) {
    const std::uint32_t group = outer(*pairs_[i].access);
    bool faulted = false, announced = false, fault_design = true, operand_design = true;
    for (; i < pairs_.size() && outer(*pairs_[i].access) == group; ++i) {
      const Pair& pair = pairs_[i];
      faulted = faulted || pair.faulted;
      announced = announced || pair.announced;
      if (pair.faulted) fault_design = fault_design && !pair.confirmed && by_design(pair.reason);
      if (pair.announced) operand_design = operand_design && !pair.confirmed && by_design(pair.reason);
    }
    if (faulted && announced) {
      ++level.confirmed_faults;
      ++level.confirmed_operands;
    } else if (faulted) {
      ++level.faults_only;
      if (fault_design) ++level.faults_only_by_design;
    } else if (announced) {
      ++level.operands_only;
      if (operand_design) ++level.operands_only_by_design;
    }
  }
}

Agreement Comparison::finish() {
  for (const auto& [key, count] : by_name_) {
    result_.examples.push_back({key.first, key.second, count.pairs, count.bytes});
  }
  std::stable_sort(result_.examples.begin(), result_.examples.end(),
                   [](const Example& a, const Example& b) { return a.pairs > b.pairs; });
  constexpr std::size_t kMaxExamples = 40;
  if (result_.examples.size() > kMaxExamples) result_.examples.resize(kMaxExamples);
  return std::move(result_);
}

double share(std::uint64_t confirmed, std::uint64_t other) {
  return confirmed + other == 0 ? 1.0 : static_cast<double>(confirmed) / static_cast<double>(confirmed + other);
}

}  // namespace

double Level::precision(bool raw) const {
  return share(confirmed_faults, raw ? faults_only : faults_only - faults_only_by_design);
}

double Level::recall(bool raw) const {
  return share(confirmed_operands, raw ? operands_only : operands_only - operands_only_by_design);
}

Agreement compare(const Profile& profile) {
  Comparison comparison(profile);
  for (const Tensor& tensor : profile.tensors) comparison.add(tensor);
  return comparison.finish();
}

}  // namespace hearth::profile
