#include "cli/autotm_policy.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "cli/numbers.h"
#include "report/layout.h"

namespace hearth::cli {
namespace {

// One line on standard error every few seconds, as long as it lives.
class Ticker {
 public:
  explicit Ticker(double limit)
      : thread_([this, limit](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          for (int seconds = kEvery; !changed_.wait_for(lock, stop, std::chrono::seconds(kEvery), [] { return false; });
               seconds += kEvery) {
            if (stop.stop_requested()) return;
            fmt::print(stderr, "hearth: solving for {} of {:g} s\n", seconds, limit);
          }
        }) {}

 private:
  static constexpr int kEvery = 5;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: stops before what it uses goes
};

std::string time_text(double ns) { return report::time_text(ns); }

}  // namespace

void add_autotm_options(CLI::App& command, autotm::Options& options) {
  command
      .add_option_function<std::string>(
          "--mode", [&options](const std::string& text) { autotm::parse_mode(text, &options.mode); },
          "of autotm: static, synchronous or asynchronous (default)")
      ->check(CLI::IsMember({"static", "synchronous", "asynchronous"}));
  command.add_option("--time-limit", options.seconds, "of autotm's solver, in seconds")
      ->capture_default_str()
      ->check(number(0.1, 1e6));
  command.add_option("--gap", options.gap, "of autotm: good enough so near to the bound, 0.01 for 1 %")
      ->capture_default_str()
      ->check(number(0, 1));
  command.add_option("--slots", options.slots, "of autotm: slots of time that the iteration is cut into")
      ->capture_default_str()
      ->check(CLI::Range(4, 100000));
}

policy::Scheduler autotm_policy(const autotm::Options& options, std::vector<autotm::Facts>* facts) {
  const auto make = [options, facts](const simulate::Workload& workload, const tier::Machine& machine,
                                     double capacity) -> Result<simulate::Schedule> {
    const Ticker ticker(options.seconds);
    Result<autotm::Answer> answer = autotm::schedule_autotm(workload, machine, capacity, options);
    if (!answer) return Error{answer.error()};
    facts->push_back(answer->facts);
    return std::move(answer->schedule);
  };
  return {std::string("autotm-") + autotm::name_of(options.mode), make};
}

std::string autotm_text(const std::vector<autotm::Facts>& rounds) {
  if (rounds.empty()) return "";
  const autotm::Facts& last = rounds.back();
  const autotm::Solution& solution = last.solution;
  std::string text = fmt::format("program      {} items, {} columns, {} rows, {} terms; round {}\n",
                                 report::count_text(last.items), report::count_text(last.columns),
                                 report::count_text(last.rows), report::count_text(last.terms), rounds.size());
  text += fmt::format("solved       {} by {} in {:.1f} s, {}: {} a step, bound {}, gap {:.2f} %\n",
                      solution.status == autotm::Status::optimal ? "within the gap" : "until the limit",
                      autotm::backend(), solution.seconds, report::bytes_text(static_cast<double>(solution.peak_bytes)),
                      time_text(solution.objective), time_text(solution.bound), solution.gap() * 100);
  text += fmt::format("simulated    {} a step, sentinel's {}{}\n", time_text(last.schedule_ns),
                      time_text(last.sentinel_ns), last.sentinel ? ", which is kept" : "");
  return text;
}

nlohmann::ordered_json autotm_json(const std::vector<autotm::Facts>& rounds) {
  const autotm::Facts& last = rounds.back();
  return {{"solver", autotm::backend()},
          {"status", autotm::name_of(last.solution.status)},
          {"rounds", rounds.size()},
          {"items", last.items},
          {"columns", last.columns},
          {"rows", last.rows},
          {"terms", last.terms},
          {"objective_ns", last.solution.objective},
          {"bound_ns", last.solution.bound},
          {"gap", last.solution.gap()},
          {"solve_seconds", last.solution.seconds},
          {"peak_bytes", last.solution.peak_bytes},
          {"simulated_step_ns", last.schedule_ns},
          {"sentinel_step_ns", last.sentinel_ns},
          {"sentinel_kept", last.sentinel}};
}

}  // namespace hearth::cli
