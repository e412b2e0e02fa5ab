// HiGHS, by its C interface.
#include <interfaces/highs_c_api.h>

#include <memory>

#include "autotm/backend.h"

namespace hearth::autotm {
namespace {

struct Destroy {
  void operator()(void* highs) const { Highs_destroy(highs); }
};

bool load(void* highs, const Program& program) {
  const Matrix matrix = by_rows(program);
  const auto low = each_of(program.columns, [](const Column& c) { return c.low; });
  const auto high = each_of(program.columns, [](const Column& c) { return c.high; });
  const auto cost = each_of(program.columns, [](const Column& c) { return c.cost; });
  const auto row_low = each_of(program.rows, [](const Row& r) { return r.low; });
  const auto row_high = each_of(program.rows, [](const Row& r) { return r.high; });
  std::vector<HighsInt> whole;
  for (const Column& column : program.columns) whole.push_back(column.whole ? kHighsVarTypeInteger : 0);
  return Highs_passMip(highs, static_cast<HighsInt>(low.size()), static_cast<HighsInt>(row_low.size()),
                       static_cast<HighsInt>(matrix.value.size()), kHighsMatrixFormatRowwise, kHighsObjSenseMinimize,
                       program.offset, cost.data(), low.data(), high.data(), row_low.data(), row_high.data(),
                       matrix.start.data(), matrix.index.data(), matrix.value.data(),
                       whole.data()) != kHighsStatusError;
}

Status status_of(HighsInt status) {
  switch (status) {
    case kHighsModelStatusOptimal:
      return Status::optimal;
    case kHighsModelStatusInfeasible:
      return Status::infeasible;
    case kHighsModelStatusTimeLimit:
      return Status::limit;
    default:
      return Status::failed;
  }
}

}  // namespace

std::string backend() {
  return "HiGHS " + std::to_string(Highs_versionMajor()) + "." + std::to_string(Highs_versionMinor()) + "." +
         std::to_string(Highs_versionPatch());
}

Solution solve_by_backend(const Program& program, const SolveOptions& options) {
  const Stopwatch watch;
  const std::unique_ptr<void, Destroy> highs(Highs_create());
  Highs_setBoolOptionValue(highs.get(), "output_flag", 0);
  Highs_setDoubleOptionValue(highs.get(), "time_limit", options.seconds);
  Highs_setDoubleOptionValue(highs.get(), "mip_rel_gap", options.gap);
  Highs_setIntOptionValue(highs.get(), "threads", 1);
  Highs_setIntOptionValue(highs.get(), "random_seed", 1);
  Solution solution;
  if (!load(highs.get(), program)) return solution;
  if (!options.start.empty()) Highs_setSolution(highs.get(), options.start.data(), nullptr, nullptr, nullptr);
  Highs_run(highs.get());
  solution.status = status_of(Highs_getModelStatus(highs.get()));
  HighsInt found = 0;
  Highs_getIntInfoValue(highs.get(), "primal_solution_status", &found);
  solution.objective = Highs_getObjectiveValue(highs.get());
  if (Highs_getDoubleInfoValue(highs.get(), "mip_dual_bound", &solution.bound) != kHighsStatusOk) solution.bound = 0;
  if (found == kHighsSolutionStatusFeasible) {
    solution.values.resize(program.columns.size());
    Highs_getSolution(highs.get(), solution.values.data(), nullptr, nullptr, nullptr);
  }
  solution.seconds = watch.seconds();
  solution.peak_bytes = peak_bytes();
  return solution;
}

}  // namespace hearth::autotm
