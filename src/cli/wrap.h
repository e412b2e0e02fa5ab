// Breaks help texts into lines. Pure; any thread.
#pragma once

#include <sstream>
#include <string>

namespace hearth::cli {

// `text` in lines of at most `width` letters, broken at spaces; `line_break` stands between them.
inline std::string wrapped(std::string_view text, std::size_t width, std::string_view line_break = "\n") {
  std::string out;
  std::size_t used = 0;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (used > 0 && used + 1 + word.size() > width) {
      out += line_break;
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

}  // namespace hearth::cli
