#include "runtime/op_times.h"

#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "platform/os_files.h"
#include "runtime/facts.h"
#include "runtime/phases.h"
#include "runtime/state.h"

namespace hearth::runtime {
namespace {

using Path = text::Buffer<config::kPathCapacity + 64>;

bool wanted() { return !g.knobs.op_times.empty() && !g.op_times.done; }

void finish_times() {
  g.op_times.done = true;
  Path path;
  path << g.knobs.op_times.c_str() << "/done";
  os::NewFile file;
  if (os::create(path.c_str(), &file) == 0) os::publish(&file, os::Existing::replace);
}

// False: there is none.
bool follow_next() {
  OpTimes& t = g.op_times;
  Path path;
  path << g.knobs.op_times.c_str() << "/plan-" << t.plan << ".json";
  char first[2];
  std::size_t length = 0;
  const int error = os::read_file(path.c_str(), first, sizeof first, &length);
  if (error != 0 && error != EFBIG) return false;
  ++t.plan;
  t.closed = 0;
  follow_file(path.c_str());
  return true;
}

}  // namespace

void close_op_times(std::uint64_t iteration) {
  OpTimes& t = g.op_times;
  if (!t.open) return;
  t.open = false;
  Path path;
  path << g.knobs.op_times.c_str() << "/times-" << t.plan - 1 << "-" << t.closed - OpTimes::kSettling << ".trace";
  write_events(iteration, config::ProfileMode::ops, path.c_str());
  g.log.clear();
  ++t.closed;
}

void open_op_times() {
  OpTimes& t = g.op_times;
  if (!wanted()) return;
  if (!managing() || t.closed == OpTimes::kSettling + OpTimes::kIterations) {
    if (t.plan == Managed::kPlans || !follow_next()) finish_times();
    return;
  }
  if (t.closed < OpTimes::kSettling) {
    ++t.closed;
    return;
  }
  if (!g.log_ready && !(g.log_ready = g.log.init(g.knobs.events))) {
    log::warn("no address space for the event log (HEARTH_EVENTS); ops are not timed");
    return finish_times();
  }
  g.log.clear();
  t.open = true;
  log_open_ops();
}

}  // namespace hearth::runtime
