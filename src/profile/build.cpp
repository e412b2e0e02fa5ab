#include "profile/build.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "profile/classes.h"
#include "profile/modules.h"
#include "profile/timeline.h"
#include "profile/uses.h"

namespace hearth::profile {
namespace {

bool is_backward(const Op& op, std::string_view name) {
  return op.scope == kScopeBackward || name.starts_with("autograd::engine::");
}

// An end whose begin lies deeper than this below others that never ended comes from a damaged log. Looking further
// would make such a log cost quadratic time.
constexpr std::ptrdiff_t kMaxUnclosed = 256;

// Closes the innermost entry that `matches`, with all entries above it; how many were closed, 0 = no such entry.
template <class Matches, class Close>
std::size_t pop_to(std::vector<std::uint32_t>& stack, Matches matches, Close close) {
  const auto limit = stack.rbegin() + std::min(std::ssize(stack), kMaxUnclosed);
  const auto found = std::find_if(stack.rbegin(), limit, matches);
  if (found == limit) return 0;
  const auto count = static_cast<std::size_t>(found - stack.rbegin()) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    close(stack.back());
    stack.pop_back();
  }
  return count;
}

class Builder {
 public:
  Builder(std::vector<std::string> names, std::uint64_t dropped) {
    if (names.empty()) names.emplace_back();
    profile_.names = std::move(names);
    profile_.anomalies.dropped_events = dropped;
  }

  void add(const hearth_event& event);
  Profile finish();  // once

 private:
  struct Thread {
    bool seen = false;
    std::vector<std::uint32_t> ops;      // open, innermost last
    std::vector<std::uint32_t> modules;  // names of the open ones
  };

  Thread& thread(std::uint16_t number);
  std::uint32_t name_of(std::uint32_t id) const { return id < profile_.names.size() ? id : 0; }
  std::uint32_t position() const { return static_cast<std::uint32_t>(profile_.outermost.size()); }
  std::uint32_t open_op(std::uint16_t number) const;
  std::uint32_t touching_op(const hearth_event& event, std::uint8_t& flags) const;
  void birth(const hearth_event& event);
  void death(const hearth_event& event);
  void op_begin(const hearth_event& event);
  void op_end(const hearth_event& event);
  void close_op(std::uint32_t op);
  void note_turn(std::uint32_t op);
  void touch(const hearth_event& event);
  void watch(const hearth_event& event);
  void module_exit(const hearth_event& event);

  Profile profile_;
  std::vector<Thread> threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_serial_;  // index into tensors
  std::unordered_map<std::uint32_t, std::uint32_t> births_;     // per op, so far
  std::vector<bool> alive_;
  UseLog uses_;
  ModuleResolver modules_;
  Timeline timeline_;
  std::uint64_t first_ns_ = 0, now_ns_ = 0, live_bytes_ = 0;
  bool started_ = false;
  std::uint32_t order_ = 0;
  std::int64_t forward_sequence_ = -1, turned_at_ = -1;  // highest seen in forward; and at the last turn
};

Builder::Thread& Builder::thread(std::uint16_t number) {
  if (threads_.size() <= number) threads_.resize(number + 1u);
  Thread& found = threads_[number];
  if (!found.seen) {
    found.seen = true;
    ++profile_.threads;
  }
  return found;
}

std::uint32_t Builder::open_op(std::uint16_t number) const {
  return number < threads_.size() && !threads_[number].ops.empty() ? threads_[number].ops.back() : kOutside;
}

// Samples are collected where an op ends, which may have begun after them.
std::uint32_t Builder::touching_op(const hearth_event& event, std::uint8_t& flags) const {
  std::uint32_t op = open_op(event.thread);
  if (op == kOutside && event.thread != 0) {
    flags |= kOtherThread;
    op = open_op(0);
  }
  while (op != kOutside && op != kNone && first_ns_ + profile_.ops[op].begin_ns > event.time_ns) {
    op = profile_.ops[op].parent;
  }
  return op != kNone ? op : kOutside;
}

void Builder::add(const hearth_event& event) {
  // Listing and guarding what is alive takes time before the iteration goes on: it begins with what comes after that.
  if (!started_) first_ns_ = event.time_ns;
  started_ = started_ || (event.type != HEARTH_EVENT_LIVE && event.type != HEARTH_EVENT_GUARD);
  // Threads take their time stamp before their slot in the log, so neighbours may stand in the wrong order.
  if (event.time_ns > first_ns_) now_ns_ = std::max(now_ns_, event.time_ns - first_ns_);
  thread(event.thread);
  switch (event.type) {
    case HEARTH_EVENT_LIVE:
    case HEARTH_EVENT_ALLOC:
      return birth(event);
    case HEARTH_EVENT_FREE:
      return death(event);
    case HEARTH_EVENT_OP_BEGIN:
      return op_begin(event);
    case HEARTH_EVENT_OP_END:
      return op_end(event);
    case HEARTH_EVENT_OPERAND:
    case HEARTH_EVENT_FAULT:
    case HEARTH_EVENT_SAMPLE:
      return touch(event);
    case HEARTH_EVENT_MODULE_ENTER:
      return threads_[event.thread].modules.push_back(name_of(event.name));
    case HEARTH_EVENT_MODULE_EXIT:
      return module_exit(event);
    case HEARTH_EVENT_GUARD:
      return watch(event);
    default:
      return;  // steps show as user-scope ops as well
  }
}

void Builder::birth(const hearth_event& event) {
  const auto index = static_cast<std::uint32_t>(profile_.tensors.size());
  if (!by_serial_.emplace(event.tensor, index).second) {
    ++profile_.anomalies.duplicate_births;
    return;
  }
  const bool before = event.type == HEARTH_EVENT_LIVE;
  const Thread& here = threads_[event.thread];
  Tensor tensor;
  tensor.serial = event.tensor;
  tensor.bytes = event.bytes;
  tensor.own_pages = (event.flags & HEARTH_EVENT_FLAG_OWN_PAGES) != 0;
  if (before) {
    tensor.producer = name_of(event.name);
    tensor.persistent = true;
  } else {
    tensor.born = open_op(event.thread);
    tensor.born_ns = now_ns_;
    tensor.born_position = position();
    tensor.born_order = ++order_;
    tensor.nth = births_[tensor.born]++;
    tensor.born_thread = event.thread;
    tensor.module = here.modules.empty() ? 0 : here.modules.back();
    if (tensor.born != kOutside) tensor.producer = profile_.ops[tensor.born].name;
    (tensor.born != kOutside ? profile_.attributed_bytes : profile_.outside_bytes) += tensor.bytes;
  }
  live_bytes_ += tensor.bytes;
  if (live_bytes_ > profile_.peak_bytes) {
    profile_.peak_bytes = live_bytes_;
    profile_.peak_op = open_op(event.thread);
  }
  if (before)
    timeline_.add_initial(now_ns_, live_bytes_);
  else
    timeline_.add(now_ns_, live_bytes_);
  alive_.push_back(true);
  profile_.tensors.push_back(std::move(tensor));
}

void Builder::death(const hearth_event& event) {
  const auto found = by_serial_.find(event.tensor);
  if (found == by_serial_.end() || !alive_[found->second]) {
    ++profile_.anomalies.unmatched_frees;
    return;
  }
  alive_[found->second] = false;
  Tensor& tensor = profile_.tensors[found->second];
  tensor.dies = open_op(event.thread);
  tensor.dies_ns = now_ns_;
  tensor.dies_position = position();
  tensor.dies_order = ++order_;
  tensor.scratch = tensor.dies == tensor.born && tensor.dies != kOutside;
  live_bytes_ -= tensor.bytes;
  timeline_.add(now_ns_, live_bytes_);
}

void Builder::op_begin(const hearth_event& event) {
  Thread& here = threads_[event.thread];
  const auto index = static_cast<std::uint32_t>(profile_.ops.size());
  Op op;
  op.name = name_of(event.name);
  op.scope = event.scope;
  op.sequence = event.value;
  op.thread = event.thread;
  op.begin_ns = now_ns_;
  op.depth = static_cast<std::uint16_t>(std::min<std::size_t>(here.ops.size(), UINT16_MAX));
  if (!here.ops.empty()) op.parent = here.ops.back();
  // A record_function() around the whole step must not make it one op: user scopes are looked through.
  if (op.parent != kNone && profile_.ops[op.parent].outer != kNone) {
    op.outer = profile_.ops[op.parent].outer;
  } else if (op.scope != kScopeUser) {
    op.outer = index;
  }
  modules_.begin(op, here.modules.empty() ? 0 : here.modules.back(), here.modules.size(), profile_);
  here.ops.push_back(index);
  profile_.ops.push_back(op);
  if (op.outer == index && op.thread == 0) {
    note_turn(index);
    profile_.outermost.push_back(index);
  }
}

// A turn is where backward ops follow forward ops that have recorded new autograd nodes since the last turn: several
// per iteration with gradient accumulation or two optimizers, none for the ops that backward hooks run in between.
void Builder::note_turn(std::uint32_t index) {
  const Op& op = profile_.ops[index];
  if (!is_backward(op, profile_.names[op.name])) {
    forward_sequence_ = std::max(forward_sequence_, op.sequence);
  } else if (profile_.turns.empty() || forward_sequence_ > turned_at_) {
    profile_.turns.push_back(position());
    turned_at_ = forward_sequence_;
  }
}

void Builder::op_end(const hearth_event& event) {
  const std::uint32_t name = name_of(event.name);
  const std::size_t closed = pop_to(
      threads_[event.thread].ops, [&](std::uint32_t op) { return name == 0 || profile_.ops[op].name == name; },
      [&](std::uint32_t op) { close_op(op); });
  if (closed == 0) ++profile_.anomalies.unmatched_ends;
  if (closed > 1) profile_.anomalies.unclosed_ops += closed - 1;
}

void Builder::close_op(std::uint32_t index) {
  Op& op = profile_.ops[index];
  op.end_ns = now_ns_;
  // self_ns holds the nested ops' time until here.
  const std::uint64_t duration = op.end_ns - op.begin_ns;
  op.self_ns = duration - std::min(duration, op.self_ns);
  if (op.parent != kNone) profile_.ops[op.parent].self_ns += duration;
}

void Builder::touch(const hearth_event& event) {
  const auto found = by_serial_.find(event.tensor);
  if (found == by_serial_.end()) {
    ++profile_.anomalies.unknown_tensors;
    return;
  }
  Use use;
  use.tensor = found->second;
  use.type = event.type;
  use.kind = event.access & HEARTH_ACCESS_READ_WRITE;
  if (event.type == HEARTH_EVENT_OPERAND) {
    use.op = open_op(event.thread);
    use.bytes = event.bytes;
    if ((event.flags & HEARTH_EVENT_FLAG_VIEW) != 0) use.flags |= kPartialView;
  } else {
    use.op = touching_op(event, use.flags);
    use.page = event.page;
  }
  uses_.add(use);
}

void Builder::watch(const hearth_event& event) {
  const auto found = by_serial_.find(event.tensor);
  if (found == by_serial_.end()) {
    ++profile_.anomalies.unknown_tensors;
    return;
  }
  if (event.access > HEARTH_WATCH_SAMPLED_PAGES) return;
  Tensor& tensor = profile_.tensors[found->second];
  tensor.watch =
      static_cast<hearth_watch>(std::max<std::uint8_t>(event.access, static_cast<std::uint8_t>(tensor.watch)));
  tensor.sampled_pages = std::max(tensor.sampled_pages, event.page);
}

void Builder::module_exit(const hearth_event& event) {
  const std::uint32_t name = name_of(event.name);
  const std::size_t closed = pop_to(
      threads_[event.thread].modules, [&](std::uint32_t open) { return name == 0 || open == name; },
      [](std::uint32_t) {});
  if (closed == 0) ++profile_.anomalies.unmatched_ends;
}

Profile Builder::finish() {
  profile_.duration_ns = now_ns_;
  if (!threads_.empty()) profile_.open = threads_[0].ops;
  for (Thread& each : threads_) {
    profile_.anomalies.unclosed_ops += each.ops.size();
    for (; !each.ops.empty(); each.ops.pop_back()) close_op(each.ops.back());
  }
  modules_.resolve(profile_);
  for (std::size_t i = 0; i < profile_.tensors.size(); ++i) {
    Tensor& tensor = profile_.tensors[i];
    if (tensor.born < profile_.ops.size()) tensor.module = profile_.ops[tensor.born].module;
    if (!alive_[i]) continue;
    tensor.persistent = true;
    tensor.dies_ns = now_ns_;
    tensor.dies_position = position();
  }
  uses_.merge_into(profile_);
  profile_.timeline = timeline_.take();
  return std::move(profile_);
}

}  // namespace

Profile build(std::span<const hearth_event> events, std::vector<std::string> names, const Thresholds& thresholds,
              std::uint64_t dropped) {
  Builder builder(std::move(names), dropped);
  for (const hearth_event& event : events) builder.add(event);
  Profile profile = builder.finish();
  classify(profile, thresholds);
  return profile;
}

}  // namespace hearth::profile
