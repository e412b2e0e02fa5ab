// What `hearth profile-ops` prints in the end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "costs/cost_file.h"
#include "costs/summary.h"

namespace hearth::cli {

struct ProfiledOps {
  const costs::CostFile& costs;
  const costs::Study& study;
  const costs::Summary& summary;
  std::string path;        // of the file
  std::string trace;       // that the ops are of
  std::size_t runs = 0;    // of the program, this time
  std::size_t rounds = 0;  // placements of the whole iteration, this time
};

std::string op_costs_text(const ProfiledOps& profiled);
nlohmann::ordered_json op_costs_json(const ProfiledOps& profiled);

}  // namespace hearth::cli
