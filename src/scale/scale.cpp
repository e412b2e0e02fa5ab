#include "scale/scale.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "scale/match.h"
#include "scale/origin.h"
#include "scale/own_pages.h"
#include "scale/times.h"
#include "scale/walk.h"

namespace hearth::scale {
namespace {

using profile::Trace;

constexpr double kSteep = 1.01;  // bytes that are rounded up grow a little faster than what they hold

class Scaler {
 public:
  Scaler(const Trace& small, const Trace& large, const Match& match, const Times& times, const Sizes& sizes)
      : small_(small), large_(large), match_(match), times_(times), sizes_(sizes) {
    for (const hearth_event& event : small.events) {
      if (is_birth(event)) small_bytes_[event.tensor] = event.bytes;
    }
  }

  Scaled scaled(std::span<const Step> steps) {
    Scaled out;
    out.trace.info = large_.info;
    out.trace.info.extrapolated = origin_text("sizes", sizes_);
    out.trace.names = large_.names;
    out.trace.events = large_.events;
    for (std::size_t i = 0; i < large_.events.size(); ++i) {
      hearth_event& event = out.trace.events[i];
      if (is_birth(event)) grow(event);
      if (event.type == HEARTH_EVENT_OPERAND) event.bytes = operand_bytes(i);
    }
    stretch(out.trace.events, steps);
    out.facts = facts_;
    return out;
  }

 private:
  static std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); }

  std::uint64_t on_line(std::uint64_t small, std::uint64_t large) const {
    return whole(at_target(sizes_, static_cast<double>(small), static_cast<double>(large)));
  }

  void grow(hearth_event& event) {
    ++facts_.tensors;
    const std::uint64_t before = event.bytes;
    const auto partner = match_.tensors.find(event.tensor);
    const auto bytes = partner == match_.tensors.end() ? small_bytes_.end() : small_bytes_.find(partner->second);
    if (bytes != small_bytes_.end()) {
      const std::uint64_t small = bytes->second;
      grow_to(event, on_line(small, before), least_);
      const double proportional = static_cast<double>(small) * sizes_.large / sizes_.small;
      facts_.growing += before > small ? 1 : 0;
      facts_.shrinking += before < small ? 1 : 0;
      facts_.steeper += static_cast<double>(before) > proportional * kSteep ? 1 : 0;
    } else if (event.type == HEARTH_EVENT_ALLOC) {
      ++facts_.alone_tensors;
      facts_.alone_bytes += before;
      grow_to(event, whole(in_proportion(sizes_, static_cast<double>(before))), least_);
    }
    factor_[event.tensor] = before > 0 ? static_cast<double>(event.bytes) / static_cast<double>(before) : 1;
  }

  std::uint64_t operand_bytes(std::size_t index) const {
    const hearth_event& event = large_.events[index];
    if (match_.events[index] != kAlone) return on_line(small_.events[match_.events[index]].bytes, event.bytes);
    const auto factor = factor_.find(event.tensor);
    return factor == factor_.end() ? event.bytes : whole(static_cast<double>(event.bytes) * factor->second);
  }

  // What passes in an op is stretched evenly; an op that took no time that the clock shows takes its own at its end.
  void stretch(std::vector<hearth_event>& events, std::span<const Step> steps) {
    std::vector<double> owed = times_.target_ns;
    double rest = 0;  // of a nanosecond
    std::uint64_t passed = 0;
    std::uint64_t now = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Step& step = steps[i];
      const std::size_t op = step.main_op == kNoOp ? owed.size() - 1 : step.main_op;
      const double measured = times_.measured_ns[op];
      const bool ends = events[i].type == HEARTH_EVENT_OP_END && events[i].thread == 0 && step.op == step.main_op;
      double ns = measured > 0 ? static_cast<double>(step.ns) * times_.target_ns[op] / measured : 0;
      if (measured <= 0 && ends && step.op != kNoOp) ns = owed[op];
      owed[op] -= ns;
      rest += ns;
      const auto whole_ns = static_cast<std::uint64_t>(rest);
      rest -= static_cast<double>(whole_ns);
      // As long as nothing has passed, the iteration may not have begun: stamps stay as they are.
      if (passed == 0) now = std::max(now, events[i].time_ns - step.ns);
      passed += whole_ns;
      now += whole_ns;
      events[i].time_ns = now;
    }
    facts_.target_ns = static_cast<double>(passed);
  }

  const Trace &small_, &large_;
  const Match& match_;
  const Times& times_;
  Sizes sizes_;
  Facts facts_;
  std::unordered_map<std::uint32_t, std::uint64_t> small_bytes_;
  std::unordered_map<std::uint32_t, double> factor_;  // by which tensors of the larger trace grow
  std::uint64_t least_ = least_on_own_pages(large_);
};

}  // namespace

Result<Scaled> scale(const Trace& small, const Trace& large, const Sizes& sizes) {
  if (const std::string problem = misfit(small, large); !problem.empty()) return Error{problem};
  const std::vector<Step> small_steps = walk(small);
  const std::vector<Step> large_steps = walk(large);
  const Result<Match> matched = match(small, small_steps, large, large_steps);
  if (!matched) return Error{matched.error()};
  const Times times = times_of({small, small_steps}, {large, large_steps}, *matched, sizes);
  Scaled out = Scaler(small, large, *matched, times, sizes).scaled(large_steps);
  out.facts.compared = matched->compared;
  out.facts.alone = matched->alone;
  out.facts.ops = matched->ops.size();
  out.facts.ops_alone = static_cast<std::uint64_t>(std::count(matched->ops.begin(), matched->ops.end(), kAlone));
  out.facts.kinds = times.kinds;
  out.facts.shorter = times.shorter;
  out.facts.shorter_ns = times.shorter_ns;
  out.facts.small_ns = total_ns(small_steps);
  out.facts.large_ns = total_ns(large_steps);
  return out;
}

}  // namespace hearth::scale
