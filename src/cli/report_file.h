// A report as `hearth report` sees it: the JSON document, checked, with its tables readable by column name.
// Main thread, cold: allocates. Members that a report of schema version 1 must have are reached with at(), which throws
// std::exception where a damaged report lacks them; the command turns that into an error message.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace hearth::cli {

// Reads a JSON report, or makes one from a trace file.
Result<nlohmann::ordered_json> load_report(const std::string& path);

// A {"columns": [...], "rows": [[...], ...]} member.
class ReportTable {
 public:
  explicit ReportTable(const nlohmann::ordered_json& table) : columns_(table.at("columns")), rows_(table.at("rows")) {}

  std::size_t size() const { return rows_.size(); }
  std::size_t column(const char* name) const;
  const nlohmann::ordered_json& cell(std::size_t row, const char* name) const { return rows_.at(row).at(column(name)); }
  const nlohmann::ordered_json& row(std::size_t index) const { return rows_.at(index); }
  const nlohmann::ordered_json& columns() const { return columns_; }

 private:
  const nlohmann::ordered_json& columns_;
  const nlohmann::ordered_json& rows_;
};

// "aten::addmm", "" for none.
std::string report_name(const nlohmann::ordered_json& profile, const nlohmann::ordered_json& name);
// Name of an op given by index, or "before the iteration", "after it", "outside any op".
std::string report_op(const nlohmann::ordered_json& profile, const ReportTable& ops,
                      const nlohmann::ordered_json& index);

// Accesses of one tensor that touch it: without those that a nested op of the same tensor covers, as in the classes.
std::size_t touching_accesses(const ReportTable& tensors, const nlohmann::ordered_json& access_columns,
                              std::size_t tensor);

// With every table as an array of objects and every name written out.
nlohmann::ordered_json normalised(const nlohmann::ordered_json& report);

// The tensors, one a line, with a header line (RFC 4180).
std::string tensors_csv(const nlohmann::ordered_json& report);

}  // namespace hearth::cli
