// Checks of numbers on the command line. CLI11's own let "nan" and, of unsigned ones, "-1" pass, and tell bounds with
// all the digits that a double has. Pure; any thread.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace hearth::cli {

// For check(): a number in [least, most].
inline CLI::Validator number(double least, double most) {
  return {[least, most](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
            return fmt::format("expected a number from {:g} to {:g}, not {}", least, most, text);
          },
          ""};
}

// For transform(): 65536 or 64K.
inline CLI::Validator size_value() {
  return {[](std::string& text) -> std::string {
            if (text.find('-') != std::string::npos) return "expected a size (16K, 2M), not " + text;
            return CLI::AsSizeValue(false)(text);
          },
          ""};
}

}  // namespace hearth::cli
