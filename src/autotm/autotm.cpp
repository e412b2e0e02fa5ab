#include "autotm/autotm.h"

#include <algorithm>
#include <utility>

#include "autotm/decode.h"
#include "policy/sentinel.h"
#include "simulate/simulate.h"

namespace hearth::autotm {
namespace {

using simulate::Schedule;
using simulate::Workload;

constexpr const char* kModes[] = {"static", "synchronous", "asynchronous"};
// Objects that are more than so much of the capacity have several units.
constexpr double kUnitsOfCapacity = 24;
constexpr double kSmallestUnit = 256 << 10;

// What copying costs beside ops: those that are bound by memory take longer by half of the machine's interference for
// each lane at work.
std::vector<double> interference_of(const Workload& workload, const tier::Machine& machine, const Slots& slots,
                                    const std::vector<double>& op_ns) {
  std::vector<double> bound(slots.count(), 0);
  for (std::uint32_t op = 0; op < op_ns.size(); ++op) {
    if (op_ns[op] > workload.ops[op].self_ns) bound[slots.slot_of(op)] += op_ns[op];
  }
  for (std::uint32_t s = 0; s < slots.count(); ++s) {
    bound[s] = slots.ns(s) > 0 ? bound[s] / slots.ns(s) * machine.interference / 2 : 0;
  }
  return bound;
}

// Who waits for a move waits for those before it too, of which the program knows nothing: to go on may be quicker.
void try_without_waits(const Workload& workload, const tier::Machine& machine, Answer& answer) {
  Schedule other = answer.schedule;
  for (simulate::Move& move : other.moves) move.wait = false;
  const double ns = simulate::simulate(workload, machine, other).step_ns;
  if (ns >= answer.facts.schedule_ns) return;
  answer.facts.schedule_ns = ns;
  answer.schedule = std::move(other);
}

}  // namespace

bool parse_mode(const std::string& text, Mode* mode) {
  const auto found = std::find(std::begin(kModes), std::end(kModes), text);
  if (found == std::end(kModes)) return false;
  *mode = static_cast<Mode>(found - std::begin(kModes));
  return true;
}

const char* name_of(Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }

Result<Answer> schedule_autotm(const Workload& workload, const tier::Machine& machine, double capacity,
                               const Options& options) {
  if (backend().empty()) {
    return Error{
        "this hearth was built without a solver: install libhighs-dev or coinor-libcbc-dev, run cmake and build again"};
  }
  Answer answer;
  const Schedule sentinel = policy::schedule_sentinel(workload, machine, capacity);
  answer.facts.sentinel_ns = simulate::simulate(workload, machine, sentinel).step_ns;

  const std::vector<double> op_ns = op_times(workload, machine, sentinel);
  const Slots slots(simulate::lapses(workload, op_ns), options.slots);
  ItemOptions grain;
  grain.unit_bytes = std::max(capacity / kUnitsOfCapacity, kSmallestUnit);
  grain.writes = machine.keeps_copies;
  const Items items = make_items(workload, machine, slots, grain);
  FormulaOptions how;
  how.mode = options.mode;
  how.capacity = capacity;
  how.clean = machine.keeps_copies;
  if (options.mode == Mode::asynchronous) how.interference = interference_of(workload, machine, slots, op_ns);
  const Formula formula = formulate(workload, machine, slots, items, how);
  if (!options.lp_file.empty()) {
    if (const Result<void> written = write_lp(formula.program, options.lp_file); !written)
      return Error{written.error()};
  }

  SolveOptions limits{options.seconds, options.gap, {}};
  limits.start = values_like(workload, slots, items, formula, sentinel, options.mode);
  Solution solution = solve(formula.program, limits);
  if (!solution.found()) {
    if (solution.status != Status::limit) return Error{backend() + " found no solution: " + name_of(solution.status)};
    solution.values = limits.start;
    solution.objective = formula.program.objective(limits.start);
  }
  answer.schedule = decode(workload, slots, items, formula, solution.values, capacity);
  answer.facts.items = items.items.size();
  answer.facts.columns = formula.program.columns.size();
  answer.facts.rows = formula.program.rows.size();
  answer.facts.terms = formula.program.terms.size();
  solution.values.clear();
  solution.objective *= formula.ns;
  solution.bound *= formula.ns;
  answer.facts.solution = solution;
  answer.facts.schedule_ns = simulate::simulate(workload, machine, answer.schedule).step_ns;
  if (options.mode == Mode::asynchronous) try_without_waits(workload, machine, answer);
  if (options.mode == Mode::asynchronous && answer.facts.sentinel_ns < answer.facts.schedule_ns) {
    answer.facts.sentinel = true;
    answer.schedule = sentinel;
  }
  return answer;
}

}  // namespace hearth::autotm
