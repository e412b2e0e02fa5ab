// The report as text for people. A pure function of the document; allocates; throws std::exception where a
// damaged report lacks a member.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace hearth::cli {

struct ReportStyle {
  std::size_t width = 100;
  std::size_t top = 15;  // tensors listed
  bool colour = false;   // bold headings
  bool unicode = true;   // plot of block characters
};

std::string report_view(const nlohmann::ordered_json& report, const ReportStyle& style);

}  // namespace hearth::cli
