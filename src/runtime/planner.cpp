#include "runtime/planner.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/log.h"
#include "base/text.h"
#include "plan/sequence.h"
#include "platform/os_clock.h"
#include "platform/os_files.h"
#include "platform/os_process.h"
#include "platform/os_spawn.h"
#include "runtime/facts.h"
#include "runtime/managed.h"
#include "runtime/state.h"
#include "runtime/torch_locator.h"
#include "runtime/trials.h"

namespace hearth::runtime {
namespace {

using Autotm = report::TrialFacts::Autotm;
using Path = text::Buffer<Planner::kPath + 16>;

constexpr std::uint64_t kLookEveryNs = 200'000'000;
// What the tool writes into the folder, and what we do.
constexpr const char* kTrace = "trace";
constexpr const char* kPlan = "plan.json";
constexpr const char* kOutput = "output";
constexpr std::string_view kNoBetterPlan = "no better plan than sentinel's was found";  // cli/beside.h

void name(Path& path, const char* file) { path << g.planner.folder << '/' << file; }

void clear_folder() {
  for (const char* file : {kTrace, kPlan, kOutput}) {
    Path path;
    name(path, file);
    os::remove_file(path.c_str());
  }
  os::remove_folder(g.planner.folder);
}

void become(Autotm state) { g.planner.state = g.trials.facts.autotm = state; }

void give_up(const char* cause, const char* cure) {
  if (g.planner.folder[0] != '\0') clear_folder();
  become(Autotm::failed);
  degrade("autotm", cause, cure);
  log::warn("HEARTH_AUTOTM: ", cause, "; ", cure);
}

// Beside the library as it was built, or in the bin of the prefix that it was installed to.
bool find_tool(Path& tool) {
  for (const char* place : {"/../bin/hearth", "/../../bin/hearth", "/hearth"}) {
    tool.clear();
    tool << own_folder() << place;
    if (os::is_executable(tool.c_str())) return true;
  }
  return false;
}

// Zero, or an errno value.
int start_tool(const Path& tool) {
  const plan::Residency& residency = g.managed.plan->sequence->plan.residency;
  Path trace;
  Path plan;
  Path output;
  name(trace, kTrace);
  name(plan, kPlan);
  name(output, kOutput);
  text::Buffer<24> fast;
  text::Buffer<24> smallest;
  text::Buffer<24> seconds;
  text::Buffer<24> step;
  text::Buffer<24> self;
  fast << residency.fast_capacity;
  smallest << g.min_bytes;
  seconds << g.knobs.autotm;
  step << text::Fixed{static_cast<double>(g.profile.normal_ns) / 1e6, 3};
  self << os::process_id();
  const char* const argv[] = {tool.c_str(),    "plan",           trace.c_str(),
                              "--policy",      "autotm",         "--fast",
                              fast.c_str(),    "--machine",      g.knobs.machine.c_str(),
                              "--min-size",    smallest.c_str(), "--time-limit",
                              seconds.c_str(), "--step-ms",      step.c_str(),
                              "--beside",      self.c_str(),     "-o",
                              plan.c_str(),    nullptr};
  return os::start_beside(argv, output.c_str(), &g.planner.pid);
}

// Of what the tool printed.
void last_line(text::Writer& line) {
  Path path;
  name(path, kOutput);
  char content[1024];
  std::size_t length = 0;
  os::read_file(path.c_str(), content, sizeof content, &length);
  while (length != 0 && content[length - 1] == '\n') content[--length] = '\0';
  const char* before = std::strrchr(content, '\n');
  line << (before != nullptr ? before + 1 : content);
}

bool fits(const plan::Plan& plan) {
  return plan.min_bytes == g.min_bytes && plan.residency.present() &&
         plan.residency.fast_capacity <= g.tiers.pages.capacity();
}

// The plan is there, whole.
void take(const char* path) {
  char why[256] = "the plan that came is for other knobs than these";
  const plan::Sequence* sequence = plan::load_sequence(path, why, sizeof why);
  clear_folder();
  if (sequence == nullptr || !fits(sequence->plan)) return give_up(why, "the plan that is there stays");
  become(Autotm::arrived);
  trials_offer(*sequence);
}

}  // namespace

void planner_begin() {
  Planner& p = g.planner;
  const plan::Sequence& sequence = *g.managed.plan->sequence;
  // The tool knows the sizes of one iteration only.
  const bool tiers = sequence.plan.residency.present() && !sequence.plan.elastic;
  if (g.knobs.autotm == 0 || !tiers || g.knobs.policy != config::PolicyName::sentinel || p.state != Autotm::off) return;
  Path tool;
  Path trace;
  if (!find_tool(tool)) {
    return give_up("there is no tool beside libhearth.so",
                   "install hearth with its library, or leave HEARTH_AUTOTM out");
  }
  if (const int error = os::make_private_folder(p.folder, sizeof p.folder - 1); error != 0) {
    p.folder[0] = '\0';
    text::Buffer<128> cause;
    cause << "no folder can be made for it: " << text::Errno{error};
    return give_up(cause.c_str(), "set TMPDIR to one that can be written to");
  }
  name(trace, kTrace);
  if (!write_events(g.profile.number, g.knobs.profile, trace.c_str())) {
    return give_up("its trace could not be written", "the plan that is there stays");
  }
  if (const int error = start_tool(tool); error != 0) {
    text::Buffer<160> cause;
    cause << "the tool could not be started: " << text::Errno{error};
    return give_up(cause.c_str(), "the plan that is there stays");
  }
  p.former = g.managed.plan;
  p.look_ns = os::monotonic_ns() + kLookEveryNs;
  become(Autotm::solving);
  log::info("autotm solves beside the training, for at most ", g.knobs.autotm, " s a round");
}

void planner_look(std::uint64_t now_ns) {
  Planner& p = g.planner;
  if (p.state != Autotm::solving || now_ns < p.look_ns || !trials_over()) return;
  p.look_ns = now_ns + kLookEveryNs;
  // Another shape is about, and its tensors are not those of the trace.
  if (!managing() || g.managed.plan->signature != p.former->signature) return;
  const bool running = os::runs(p.pid);
  Path plan;
  name(plan, kPlan);
  if (os::is_readable(plan.c_str())) return take(plan.c_str());
  if (running) return;
  text::Buffer<200> cause;
  last_line(cause);
  if (cause.view().find(kNoBetterPlan) != std::string_view::npos) {
    clear_folder();
    become(Autotm::no_better);
    return log::info("autotm: ", kNoBetterPlan);
  }
  give_up(cause.length() != 0 ? cause.c_str() : "the tool ended without a plan", "the plan that is there stays");
}

void planner_forget() {
  if (g.planner.state != Autotm::solving) return;
  clear_folder();
  become(Autotm::off);
}

void planner_end() {
  if (g.planner.state == Autotm::solving) clear_folder();
}

}  // namespace hearth::runtime
