// Cbc, by its C++ classes: the driver behind its C interface (CbcMain1) resolves the program as the time limit ends the
// search, and 2.10.8 crashes there.
#include <CbcModel.hpp>
// The others need it before them.
#include <CbcConfig.h>
#include <CbcCutGenerator.hpp>
#include <CbcHeuristic.hpp>
#include <CbcHeuristicDiveVectorLength.hpp>
#include <CbcHeuristicRINS.hpp>
#include <CglGomory.hpp>
#include <CglKnapsackCover.hpp>
#include <CglMixedIntegerRounding2.hpp>
#include <CoinError.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "autotm/backend.h"
#include "autotm/neighborhoods.h"

namespace hearth::autotm {
namespace {

constexpr double kTolerance = 1e-5;
constexpr std::size_t kLarge = 1000;
// Of one part of a large program.
constexpr double kPartSeconds = 0.7;
constexpr double kPartGap = 2e-4;

void load(OsiClpSolverInterface& solver, const Program& program) {
  const Matrix matrix = by_columns(program);
  const auto low = each_of(program.columns, [](const Column& c) { return c.low; });
  const auto high = each_of(program.columns, [](const Column& c) { return c.high; });
  const auto cost = each_of(program.columns, [](const Column& c) { return c.cost; });
  const auto row_low = each_of(program.rows, [](const Row& r) { return r.low; });
  const auto row_high = each_of(program.rows, [](const Row& r) { return r.high; });
  solver.messageHandler()->setLogLevel(0);
  solver.loadProblem(static_cast<int>(low.size()), static_cast<int>(row_low.size()), matrix.start.data(),
                     matrix.index.data(), matrix.value.data(), low.data(), high.data(), cost.data(), row_low.data(),
                     row_high.data());
  solver.setDblParam(OsiObjOffset, -program.offset);
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].whole) solver.setInteger(static_cast<int>(i));
  }
}

// Cbc's own dives fix one column at a time, which takes minutes for thousands of them. This one fixes a share of those
// that the linear program leaves broken, nearest to a whole number first, and solves it again.
class Dive {
 public:
  Dive(const OsiClpSolverInterface& solver, const Program& program, std::size_t steps, double seconds)
      : lp_(solver), program_(program), steps_(steps), seconds_(seconds) {}

  // Empty if it leads nowhere, or takes too long.
  std::vector<double> find() {
    while (watch_.seconds() < seconds_) {
      std::vector<int> broken = broken_columns();
      if (broken.empty()) return whole();
      broken.resize(broken.size() / steps_ + 1);
      if (!fix(broken) && !fix_one(broken.front())) break;
    }
    return {};
  }

 private:
  static constexpr double kNearly = 1e-6;

  static double distance(double value) { return std::abs(value - std::round(value)); }

  std::vector<int> broken_columns() const {
    const double* values = lp_.getColSolution();
    std::vector<int> broken;
    for (int i = 0; i < lp_.getNumCols(); ++i) {
      if (program_.columns[static_cast<std::size_t>(i)].whole && distance(values[i]) > kNearly) broken.push_back(i);
    }
    std::stable_sort(broken.begin(), broken.end(),
                     [&](int a, int b) { return distance(values[a]) < distance(values[b]); });
    return broken;
  }

  bool fix(const std::vector<int>& columns) {
    const std::vector<double> values(lp_.getColSolution(), lp_.getColSolution() + lp_.getNumCols());
    for (const int i : columns) fix(i, std::round(values[static_cast<std::size_t>(i)]));
    if (solved()) return true;
    for (const int i : columns) {
      const Column& column = program_.columns[static_cast<std::size_t>(i)];
      lp_.setColBounds(i, column.low, column.high);
    }
    lp_.resolve();
    return false;
  }

  bool fix_one(int column) {
    const double value = lp_.getColSolution()[column];
    for (const double side : {std::floor(value), std::ceil(value)}) {
      fix(column, side);
      if (solved()) return true;
    }
    return false;
  }

  void fix(int column, double value) { lp_.setColBounds(column, value, value); }

  bool solved() {
    lp_.resolve();
    return lp_.isProvenOptimal();
  }

  std::vector<double> whole() const {
    std::vector<double> values(lp_.getColSolution(), lp_.getColSolution() + lp_.getNumCols());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (program_.columns[i].whole) values[i] = std::round(values[i]);
    }
    return values;
  }

  OsiClpSolverInterface lp_;
  const Program& program_;
  std::size_t steps_;  // a column is fixed of so many
  double seconds_;
  Stopwatch watch_;
};

void add_cuts_and_heuristics(CbcModel& model) {
  CglKnapsackCover cover;
  CglMixedIntegerRounding2 rounding;
  CglGomory gomory;
  gomory.setLimit(300);
  model.addCutGenerator(&cover, -98, "cover");
  model.addCutGenerator(&rounding, -98, "rounding");
  model.addCutGenerator(&gomory, -98, "gomory");
  CbcRounding simple(model);
  CbcHeuristicDiveVectorLength dive(model);
  CbcHeuristicRINS near(model);
  model.addHeuristic(&simple);
  model.addHeuristic(&dive);
  model.addHeuristic(&near);
}

// From a start on, within the time that is left.
void branch(const Program& program, double gap, double seconds, Solution& solution) {
  OsiClpSolverInterface solver;
  load(solver, program);
  CbcModel model(solver);
  model.setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(seconds);
  model.setAllowableFractionGap(gap);
  model.setRandomSeed(1);
  if (solution.found()) {
    // Checked by us: Cbc's own check is one more search.
    model.setBestSolution(solution.values.data(), static_cast<int>(solution.values.size()), solution.objective, false);
  }
  add_cuts_and_heuristics(model);
  model.branchAndBound();
  solution.bound = std::max(solution.bound, model.getBestPossibleObjValue());
  if (const double* values = model.bestSolution(); values != nullptr) {
    solution.values.assign(values, values + program.columns.size());
    solution.objective = program.objective(solution.values);
  }
  solution.status = model.isProvenOptimal() ? Status::optimal : Status::limit;
  if (solution.status == Status::optimal) {  // what it left out is no better than that
    solution.bound = std::max(solution.bound, solution.objective - gap * std::abs(solution.objective));
  }
  if (model.isProvenInfeasible() && !solution.found()) solution.status = Status::infeasible;
}

void offer(const Program& program, std::vector<double> values, Solution& solution) {
  if (values.empty() || program.violation(values) > kTolerance) return;
  const double objective = program.objective(values);
  if (solution.found() && objective >= solution.objective) return;
  solution.values = std::move(values);
  solution.objective = objective;
}

Solution search(const Program& program, const SolveOptions& options) {
  const Stopwatch watch;
  Solution solution;
  OsiClpSolverInterface solver;
  load(solver, program);
  solver.initialSolve();
  if (solver.isProvenPrimalInfeasible()) {
    solution.status = Status::infeasible;
    return solution;
  }
  solution.bound = solver.getObjValue();
  offer(program, options.start, solution);
  const auto good = [&] { return solution.found() && solution.gap() <= options.gap; };
  for (const std::size_t steps : {10u, 30u, 100u}) {
    const double left = options.seconds / 2 - watch.seconds();
    if (left > 0 && !good()) offer(program, Dive(solver, program, steps, left).find(), solution);
  }
  // What is small enough is searched to the end; of what is not, branching finds less than a search around what there
  // is.
  const bool large = program.columns.size() > kLarge;
  Neighborhoods near(program);
  while (large && near.any() && solution.found() && !good() && watch.seconds() < options.seconds) {
    const Part part = near.next(solution.values);
    Solution better;
    offer(part.program, part.values_of(solution.values), better);
    branch(part.program, kPartGap, std::min(kPartSeconds, options.seconds - watch.seconds()), better);
    if (better.found()) offer(program, part.with(solution.values, better.values), solution);
  }
  if (good()) {
    solution.status = Status::optimal;
  } else if (large && solution.found()) {
    solution.status = Status::limit;
  } else {
    branch(program, options.gap, std::max(options.seconds - watch.seconds(), 1.0), solution);
    if (good()) solution.status = Status::optimal;
  }
  if (solution.found()) solution.bound = std::min(solution.bound, solution.objective);
  solution.seconds = watch.seconds();
  solution.peak_bytes = peak_bytes();
  return solution;
}

}  // namespace

std::string backend() { return std::string("Cbc ") + CBC_VERSION; }

Solution solve_by_backend(const Program& program, const SolveOptions& options) {
  try {
    return search(program, options);
  } catch (const CoinError&) {
    return {};
  }
}

}  // namespace hearth::autotm
