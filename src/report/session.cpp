#include "report/session.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/log.h"
#include "platform/os_clock.h"
#include "platform/os_files.h"
#include "platform/os_process.h"
#include "profile/build.h"
#include "profile/trace_file.h"
#include "report/json.h"
#include "report/output.h"
#include "report/text.h"

namespace hearth::report {

struct Session {
  SessionInputs inputs;
  RunFacts facts;
  PathInputs path_inputs;
  profile::Thresholds thresholds;
  // Publish reads it in signal handlers; a former one is kept alive for a handler that may be reading it.
  std::atomic<const Prepared*> prepared{nullptr};
  const profile::Profile* profile = nullptr;
  Output report;
  bool report_wanted = false;
  bool move_told = false;
  bool failure_told = false;
  bool trace_owned = false;  // a later profile may replace it
  std::string trace_path;
};

namespace {

std::string environment_text(const char* name) {
  const char* value = os::environment(name);
  return value != nullptr ? value : "";
}

std::string command_line() {
  char buffer[4096];
  std::size_t length = 0;
  const int error = os::read_file("/proc/self/cmdline", buffer, sizeof buffer, &length);
  if (error != 0 && error != EFBIG) return {};
  std::string text(buffer, length);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

void take_knobs(RunFacts& facts, const config::Knobs& knobs, const config::KnobOrigins& origins) {
  for (std::size_t i = 0; i < config::kKnobs.size(); ++i) {
    char value[config::kPathCapacity];
    config::format_value(knobs, config::kKnobs[i], value, sizeof value);
    facts.knobs.push_back(
        {std::string(config::kKnobs[i].name), value, std::string(config::origin_name(origins.of[i]))});
  }
  facts.min_size = knobs.min_size;
}

void take_process(Session& session) {
  RunFacts& facts = session.facts;
  char host[256];
  facts.pid = os::process_id();
  if (os::host_name(host, sizeof host)) facts.host = host;
  facts.rank = environment_text("RANK");
  facts.local_rank = environment_text("LOCAL_RANK");
  facts.world_size = environment_text("WORLD_SIZE");
  facts.command = command_line();
  facts.start_unix_ns = os::unix_ns();
  facts.torch_version = session.inputs.torch_version;
  facts.adapter = session.inputs.adapter;
  facts.adapter_absent = session.inputs.adapter_absent;
  take_knobs(facts, *session.inputs.knobs, *session.inputs.origins);
  session.path_inputs = {facts.pid, facts.host, facts.rank, facts.world_size};
  session.thresholds.short_ops = static_cast<std::uint32_t>(session.inputs.knobs->short_ops);
  session.thresholds.frequency_buckets = static_cast<std::uint32_t>(session.inputs.knobs->frequency_buckets);
}

// The path, or "" after one line that says what is wrong with it.
std::string choose(Session& session, const char* knob, const char* pattern) {
  Result<Chosen> chosen = choose_path(pattern, session.path_inputs);
  if (!chosen) {
    log::warn(knob, ": ", chosen.error());
    return {};
  }
  if (chosen->moved) log::warn(knob, ": the file exists already; writing ", chosen->path);
  return chosen->path;
}

void choose_outputs(Session& session) {
  const config::Knobs& knobs = *session.inputs.knobs;
  if (!knobs.report.empty()) {
    const std::string path = choose(session, "HEARTH_REPORT", knobs.report.c_str());
    session.report_wanted = !path.empty() && session.report.set_path(path.c_str());
  }
  if (!knobs.trace.empty()) session.trace_path = choose(session, "HEARTH_TRACE", knobs.trace.c_str());
}

std::vector<std::string> copy_names(const trace::NameTable& names) {
  std::vector<std::string> copy(1);
  const std::uint32_t count = names.count();
  copy.reserve(count + 1);
  for (std::uint32_t i = 1; i <= count; ++i) copy.emplace_back(names.text(NameId{i}));
  return copy;
}

void prepare_again(Session& session) {
  session.prepared.store(new Prepared(prepare(session.facts, session.profile)), std::memory_order_release);
}

profile::TraceInfo trace_info(const Session& session, const char* mode, std::uint64_t iteration, bool elastic) {
  profile::TraceInfo info;
  info.hearth_version = session.facts.version;
  info.torch_version = session.facts.torch_version;
  info.command = session.facts.command;
  info.host = session.facts.host;
  info.mode = mode;
  info.pid = session.facts.pid;
  info.unix_ns = os::unix_ns();
  info.iteration = iteration;
  info.elastic = elastic;
  info.thresholds = session.thresholds;
  return info;
}

void write_trace_file(Session& session, std::span<const hearth_event> events, const std::vector<std::string>& names) {
  if (session.trace_path.empty()) return;
  const auto& profiled = session.facts.live.profiled;
  const Result<void> written =
      profile::write_trace(session.trace_path, trace_info(session, profiled.mode, profiled.number, profiled.elastic),
                           names, events, profiled.dropped_events, session.trace_owned);
  if (!written) log::warn("HEARTH_TRACE: ", written.error());
  session.trace_owned = session.trace_owned || bool(written);
}

template <class Work>
bool guarded(const char* what, const Work& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& problem) {
    log::warn(what, " failed (", problem.what(), "); the training goes on without it");
  } catch (...) {
    log::warn(what, " failed; the training goes on without it");
  }
  return false;
}

}  // namespace

Session* open_session(const SessionInputs& inputs) noexcept {
  Session* session = nullptr;
  guarded("preparing the report", [&] {
    session = new Session;
    session->inputs = inputs;
    take_process(*session);
    choose_outputs(*session);
    prepare_again(*session);
  });
  return session;
}

void conclude(Session& session, std::span<const hearth_event> events, const LiveFacts& live) noexcept {
  guarded("making the profile", [&] {
    session.facts.live = live;
    const std::vector<std::string> names = copy_names(*session.inputs.names);
    write_trace_file(session, events, names);
    session.profile =
        new profile::Profile(profile::build(events, names, session.thresholds, live.profiled.dropped_events));
    prepare_again(session);
    publish(session, live);
  });
}

int publish(Session& session, const LiveFacts& live) noexcept {
  const Prepared* prepared = session.prepared.load(std::memory_order_acquire);
  if (!session.report_wanted || prepared == nullptr) return ENOENT;
  const int error = session.report.publish(*prepared, live);
  if (error != 0 && error != EBUSY) {
    if (!session.failure_told) {
      log::warn("cannot write the report ", session.report.path(), ": ", text::Errno{error}, "; change HEARTH_REPORT");
    }
    session.failure_told = true;
  } else if (session.report.moved() && !session.move_told) {
    session.move_told = true;
    log::warn("HEARTH_REPORT: the file exists already; wrote ", session.report.path());
  }
  return error;
}

int publish_to(Session& session, const LiveFacts& live, const char* path) noexcept {
  int error = ENOMEM;
  guarded("writing the report", [&] {
    const Prepared* prepared = session.prepared.load(std::memory_order_acquire);
    Output output;
    if (prepared == nullptr || !output.set_path(path)) {
      error = prepared == nullptr ? ENOENT : ENAMETOOLONG;
      return;
    }
    error = output.publish(*prepared, live);
  });
  return error;
}

bool write_events(const Session& session, std::span<const hearth_event> events, std::uint64_t dropped,
                  std::uint64_t iteration, const char* mode, const char* path) noexcept {
  bool written = false;
  guarded("writing a trace", [&] {
    const Result<void> done = profile::write_trace(path, trace_info(session, mode, iteration, false),
                                                   copy_names(*session.inputs.names), events, dropped);
    if (!done) log::warn(done.error());
    written = bool(done);
  });
  return written;
}

void finish(Session& session, const LiveFacts& live) noexcept {
  if (session.report_wanted) publish(session, live);
  if (!session.inputs.knobs->stats) return;
  guarded("the summary", [&] {
    session.facts.live = live;
    std::string text;
    write_text(text, session.facts, session.profile);
    if (session.report_wanted) text += std::string("  report: ") + session.report.path() + "\n";
    os::write_all(STDERR_FILENO, text.data(), text.size());
  });
}

bool wants_report(const Session& session) noexcept { return session.report_wanted; }

const profile::Profile* made_profile(const Session& session) noexcept { return session.profile; }

}  // namespace hearth::report
