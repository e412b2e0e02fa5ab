// TextPage: text for people under construction: headings, lines, broken paragraphs. Main thread, cold: allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "cli/report_view.h"

namespace hearth::cli {

class TextPage {
 public:
  explicit TextPage(const ReportStyle& style) : style_(style) {}

  const ReportStyle& style() const { return style_; }
  std::string& text() { return text_; }

  void title(const std::string& text) { text_ += bold(text) + '\n'; }
  void heading(const char* text) { text_ += '\n' + bold(text) + '\n'; }
  void line(const std::string& text) { text_ += "  " + text + '\n'; }

  // Breaks at spaces; later lines are indented further.
  void wrapped(const std::string& text) {
    const std::size_t width = std::max<std::size_t>(style_.width, 40);
    std::string current = "  ";
    std::size_t used = 2;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::size_t length = end - at;
      if (used > 4 && used + 1 + length > width) {
        text_ += current + '\n';
        current = "    ";
        used = 4;
      } else if (at > 0) {
        current += ' ';
        ++used;
      }
      current.append(text, at, length);
      used += length;
      at = end + 1;
    }
    text_ += current + '\n';
  }

 private:
  std::string bold(const std::string& text) const { return style_.colour ? "\033[1m" + text + "\033[0m" : text; }

  const ReportStyle& style_;
  std::string text_;
};

}  // namespace hearth::cli
