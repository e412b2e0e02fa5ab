#include "scale/times.h"

#include <algorithm>
#include <unordered_map>

namespace hearth::scale {
namespace {

using profile::Trace;

std::vector<double> own_times(const Walked& walked, std::size_t ops) {
  std::vector<double> own(ops + 1, 0.0);
  for (const Step& step : walked.steps) own[step.main_op == kNoOp ? ops : step.main_op] += static_cast<double>(step.ns);
  return own;
}

std::size_t ops_of(std::span<const Step> steps) {
  std::uint32_t last = 0;  // one more than the highest number
  for (const Step& step : steps) last = std::max(last, step.op == kNoOp ? 0 : step.op + 1);
  return last;
}

std::unordered_map<std::uint32_t, std::uint64_t> bytes_by_serial(const Trace& trace) {
  std::unordered_map<std::uint32_t, std::uint64_t> bytes;
  for (const hearth_event& event : trace.events) {
    if (event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC) bytes[event.tensor] = event.bytes;
  }
  return bytes;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

// What ops are: a hash of their names and of the bytes that they handle at both sizes, and whether they may take
// longer.
class Kinds {
 public:
  Kinds(const Walked& small, const Walked& large, const Match& match, std::size_t ops)
      : small_(small),
        large_(large),
        match_(match),
        hash_(ops, 0),
        handles_(ops, 0),
        grows_(ops, 0),
        parent_(ops, kNoOp) {
    small_bytes_ = bytes_by_serial(small.trace);
    large_bytes_ = bytes_by_serial(large.trace);
    for (std::uint32_t i = 0; i < large.trace.events.size(); ++i) see(i);
    // Ops are numbered by their begin: what is inside comes after what is around it.
    for (std::size_t op = ops; op-- > 0;) {
      if (parent_[op] == kNoOp) continue;
      handles_[parent_[op]] |= handles_[op];
      grows_[parent_[op]] |= grows_[op];
    }
  }

  std::uint64_t kind(std::size_t op) const { return mixed(hash_[op], steady(op) ? 1 : 0); }
  // Of one that was given nothing one cannot know.
  bool steady(std::size_t op) const { return handles_[op] != 0 && grows_[op] == 0; }

 private:
  void see(std::uint32_t index) {
    const hearth_event& event = large_.trace.events[index];
    const Step& step = large_.steps[index];
    if (step.op == kNoOp) return;
    if (event.type == HEARTH_EVENT_OP_BEGIN) {
      parent_[step.op] = step.parent;
      hash_[step.op] = mixed(hash_[step.op], event.name);
      return;
    }
    const bool handles = event.type == HEARTH_EVENT_OPERAND || event.type == HEARTH_EVENT_ALLOC;
    if (!handles && event.type != HEARTH_EVENT_FREE) return;
    const std::uint64_t large = bytes_at(large_bytes_, event);
    const std::uint32_t partner = match_.events[index];
    const std::uint64_t small = partner == kAlone ? 0 : bytes_at(small_bytes_, small_.trace.events[partner]);
    std::uint64_t& hash = hash_[step.op];
    hash = mixed(mixed(mixed(hash, event.type << 8 | event.access), large), small);
    handles_[step.op] = 1;
    if (large > small) grows_[step.op] = 1;
  }

  static std::uint64_t bytes_at(const std::unordered_map<std::uint32_t, std::uint64_t>& tensors,
                                const hearth_event& event) {
    if (event.type != HEARTH_EVENT_FREE) return event.bytes;
    const auto found = tensors.find(event.tensor);
    return found == tensors.end() ? 0 : found->second;
  }

  const Walked &small_, &large_;
  const Match& match_;
  std::vector<std::uint64_t> hash_;
  std::vector<std::uint8_t> handles_, grows_;  // bytes, and more of them at the larger size: it, or one inside it
  std::vector<std::uint32_t> parent_;
  std::unordered_map<std::uint32_t, std::uint64_t> small_bytes_, large_bytes_;
};

struct Pool {
  double small_ns = 0, large_ns = 0;
  std::uint64_t ops = 0;
  bool steady = false;
};

}  // namespace

Times times_of(const Walked& small, const Walked& large, const Match& match, const Sizes& sizes) {
  const std::size_t ops = match.ops.size();
  const std::size_t small_ops = ops_of(small.steps);
  const std::vector<double> small_ns = own_times(small, small_ops);
  Times times;
  times.measured_ns = own_times(large, ops);
  times.target_ns.assign(ops + 1, 0.0);
  const Kinds kinds(small, large, match, ops);
  std::unordered_map<std::uint64_t, Pool> pools;
  for (std::size_t op = 0; op < ops; ++op) {
    if (match.ops[op] == kAlone) continue;
    Pool& pool = pools[kinds.kind(op)];
    pool.small_ns += small_ns[match.ops[op]];
    pool.large_ns += times.measured_ns[op];
    pool.steady = kinds.steady(op);
    ++pool.ops;
  }
  for (std::size_t op = 0; op < ops; ++op) {
    if (match.ops[op] == kAlone) {
      times.target_ns[op] = in_proportion(sizes, times.measured_ns[op]);
      continue;
    }
    const Pool& pool = pools[kinds.kind(op)];
    const auto each = static_cast<double>(pool.ops);
    times.target_ns[op] = (pool.steady ? pool.large_ns : at_target(sizes, pool.small_ns, pool.large_ns)) / each;
    if (pool.steady || pool.large_ns >= pool.small_ns) continue;
    ++times.shorter;
    times.shorter_ns += times.measured_ns[op];
  }
  times.kinds = pools.size();
  times.target_ns[ops] = at_target(sizes, small_ns[small_ops], times.measured_ns[ops]);
  return times;
}

}  // namespace hearth::scale
