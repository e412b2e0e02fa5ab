#include "scale/origin.h"

namespace hearth::scale {
namespace {

using profile::Trace;

std::string number_text(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string misfit(const Trace& small, const Trace& large) {
  for (const Trace* trace : {&small, &large}) {
    if (trace->dropped > 0) {
      return "a trace is incomplete, " + std::to_string(trace->dropped) +
             " events did not fit the log; raise HEARTH_EVENTS or profile with HEARTH_PROFILE=ops";
    }
    if (!trace->info.extrapolated.empty()) return "a trace is extrapolated itself; take those that were measured";
  }
  if (small.info.mode != large.info.mode) {
    return "one trace was profiled in mode " + small.info.mode + ", the other in mode " + large.info.mode;
  }
  if (small.info.torch_version != large.info.torch_version) {
    return "one trace is of PyTorch " + small.info.torch_version + ", the other of " + large.info.torch_version;
  }
  return "";
}

std::string origin_text(const std::string& what, const Sizes& sizes) {
  return "from " + what + " " + number_text(sizes.small) + " and " + number_text(sizes.large) + " to " +
         number_text(sizes.target);
}

}  // namespace hearth::scale
