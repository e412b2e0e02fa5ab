#include "scale/walk.h"

#include <algorithm>
#include <numeric>

namespace hearth::scale {
namespace {

struct Open {
  std::uint32_t op;
  std::uint32_t name;
};

class Walker {
 public:
  Step see(const hearth_event& event) {
    if (threads_.size() <= event.thread) threads_.resize(event.thread + 1u);
    Step step;
    step.ns = passed(event);
    step.main_op = innermost(0);
    step.op = innermost(event.thread);
    if (event.type == HEARTH_EVENT_OP_BEGIN) {
      step.parent = step.op;
      step.op = count_++;
      threads_[event.thread].push_back({step.op, event.name});
    } else if (event.type == HEARTH_EVENT_OP_END) {
      step.op = close(threads_[event.thread], event.name);
    }
    return step;
  }

 private:
  // Lists of what is alive come before the iteration begins. Threads may stand in the wrong order by a little.
  std::uint64_t passed(const hearth_event& event) {
    const bool lists = event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_GUARD;
    const bool begins = !started_ && !lists;
    started_ = started_ || begins;
    if (!started_ || begins) return now_ns_ = event.time_ns, 0;
    const std::uint64_t since = event.time_ns - std::min(event.time_ns, now_ns_);
    now_ns_ += since;
    return since;
  }

  std::uint32_t innermost(std::uint16_t thread) const {
    return thread < threads_.size() && !threads_[thread].empty() ? threads_[thread].back().op : kNoOp;
  }

  // The op that ends, with those inside it that never did; kNoOp if it began before the iteration.
  static std::uint32_t close(std::vector<Open>& open, std::uint32_t name) {
    const auto found = std::find_if(open.rbegin(), open.rend(),
                                    [&](const Open& each) { return name == HEARTH_NO_ID || each.name == name; });
    if (found == open.rend()) return kNoOp;
    const std::uint32_t op = found->op;
    open.erase(found.base() - 1, open.end());
    return op;
  }

  std::vector<std::vector<Open>> threads_;
  std::uint32_t count_ = 0;
  std::uint64_t now_ns_ = 0;
  bool started_ = false;
};

}  // namespace

std::vector<Step> walk(const profile::Trace& trace) {
  std::vector<Step> steps;
  steps.reserve(trace.events.size());
  Walker walker;
  for (const hearth_event& event : trace.events) steps.push_back(walker.see(event));
  return steps;
}

double total_ns(std::span<const Step> steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const Step& step) { return sum + static_cast<double>(step.ns); });
}

}  // namespace hearth::scale
