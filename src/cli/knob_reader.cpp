#include "cli/knob_reader.h"

namespace hearth::cli {
namespace {

std::unique_ptr<KnobsInForce> read(const Variables& environment, const char* system_file) {
  const std::vector<std::string> entries = as_entries(environment);
  const std::vector<char*> pointers = as_pointers(entries);
  auto result = std::make_unique<KnobsInForce>();
  config::Problems problems;
  config::load(result->knobs, result->origins, problems,
               {.environment = pointers.data(), .system_file = system_file, .secure = false});
  for (std::uint32_t i = 0; i < problems.count; ++i) result->problems.emplace_back(problems.list[i].text);
  return result;
}

}  // namespace

std::unique_ptr<KnobsInForce> read_knobs(const Variables& environment) {
  return read(environment, config::kSystemFile);
}

std::string value_text(const config::Knobs& knobs, const config::KnobRow& row) {
  std::string text(config::kPathCapacity, '\0');
  text.resize(config::format_value(knobs, row, text.data(), text.size()));
  return text;
}

std::string problem_with(const std::string& name, const std::string& value) {
  if (!name.starts_with(config::kPrefix) || name == config::kPrefix) {
    return name + ": not the name of a knob; `hearth knobs` lists them";
  }
  // Alone, so that what stands in the real environment is not blamed on what was typed here; HEARTH_CONFIG would pull
  // in a file with problems of its own.
  if (name == "HEARTH_CONFIG") return "";
  const auto alone = read({{name, value}}, nullptr);
  if (alone->problems.empty()) return "";
  // Nothing goes on with the value that is named last.
  const std::string& problem = alone->problems.front();
  return problem.substr(0, problem.rfind("; using "));
}

}  // namespace hearth::cli
