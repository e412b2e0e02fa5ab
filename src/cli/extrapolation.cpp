#include "cli/extrapolation.h"

namespace hearth::cli {

std::string extrapolation_text(const profile::TraceInfo& info) {
  if (info.extrapolated.empty()) return "";
  return "trace        EXTRAPOLATED " + info.extrapolated + ": its bytes and times were not measured\n";
}

nlohmann::ordered_json extrapolation_json(const profile::TraceInfo& info) {
  if (info.extrapolated.empty()) return nullptr;
  return info.extrapolated;
}

}  // namespace hearth::cli
