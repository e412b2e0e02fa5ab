#include "report/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace hearth::report {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

// Byte offset of code point `index`.
std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (starts_code_point(text[at]) && seen++ == index) break;
  }
  return at;
}

std::string scaled(double value, double step, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (value >= step * 0.9995 && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  // Three digits say enough; counts of the smallest unit are whole.
  const int decimals = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return number_text(value, decimals) + " " + units[unit];
}

void append_padded(std::string& out, std::string_view text, std::size_t width, Table::Align align) {
  const std::string padding(width - std::min(width, width_of(text)), ' ');
  if (align == Table::Align::right) out += padding;
  out += text;
  if (align == Table::Align::left) out += padding;
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

// Highest value in each of `columns` slices of time; between two points the earlier one's value holds.
std::vector<std::uint64_t> slices(std::span<const profile::Point> points, std::uint64_t duration_ns,
                                  std::size_t columns) {
  std::vector<std::uint64_t> highest(columns);
  const double span = static_cast<double>(std::max<std::uint64_t>(duration_ns, 1));
  std::size_t next = 0;
  std::uint64_t level = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const double end = span * static_cast<double>(column + 1) / static_cast<double>(columns);
    const bool last = column + 1 == columns;
    highest[column] = level;
    for (; next < points.size() && (last || static_cast<double>(points[next].time_ns) < end); ++next) {
      level = points[next].live_bytes;
      highest[column] = std::max(highest[column], level);
    }
  }
  return highest;
}

}  // namespace

std::string number_text(double number, int decimals) {
  std::array<char, 64> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, decimals);
  return result.ec == std::errc() ? std::string(text.data(), result.ptr) : "?";
}

std::string bytes_text(double bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(bytes, 1024, kUnits);
}

std::string time_text(double ns) {
  static constexpr std::array kUnits{"ns", "us", "ms", "s"};
  return scaled(ns, 1000, kUnits);
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string percent_text(double share) { return number_text(100 * share, 1) + " %"; }

std::string touches_text(double touches) {
  if (!(touches > 0)) return "-";
  if (touches >= 0.995) return number_text(touches, 1);
  // Two digits, so that few touches do not read as none.
  std::array<char, 64> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), touches, std::chars_format::general, 2);
  return result.ec == std::errc() ? std::string(text.data(), result.ptr) : "?";
}

std::string bucket_text(std::uint32_t bucket, double base, std::uint32_t buckets) {
  const auto bound = [&](std::uint32_t k) {
    double value = 1;
    while (k-- > 0) value *= base;
    return number_text(value, value == std::floor(value) ? 0 : 1);
  };
  if (buckets <= 1) return "any";
  if (bucket == 0) return "< 1";
  if (bucket + 1 >= buckets) return ">= " + bound(bucket - 1);
  return bound(bucket - 1) + " .. " + bound(bucket);
}

std::string op_text(std::string_view name) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  return name.starts_with(kEngine) ? "engine: " + std::string(name.substr(kEngine.size())) : std::string(name);
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t length = width_of(text);
  if (length <= width) return std::string(text);
  if (width <= 3) return std::string(text.substr(0, offset_of(text, width)));
  const std::size_t head = (width - 3 + 1) / 2;
  const std::size_t tail = width - 3 - head;
  std::string out(text.substr(0, offset_of(text, head)));
  out += "...";
  out += text.substr(offset_of(text, length - tail));
  return out;
}

std::vector<std::size_t> Table::fitted_widths(std::size_t width) const {
  constexpr std::size_t kGap = 2, kMinFlexible = 8;
  std::vector<std::size_t> widths(columns_.size());
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths[c] = width_of(columns_[c].title);
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
    total += widths[c] + kGap;
  }
  while (total > width) {
    // The widest flexible column gives way first.
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!columns_[c].flexible || widths[c] <= kMinFlexible) continue;
      if (widest == columns_.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

void Table::write(std::string& out, std::size_t width) const {
  const std::vector<std::size_t> widths = fitted_widths(width);
  const auto line = [&](const auto& cell) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      out += "  ";
      append_padded(out, shortened(cell(c), widths[c]), widths[c], columns_[c].align);
    }
    end_line(out);
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) line([&](std::size_t c) -> const std::string& { return row[c]; });
}

void write_plot(std::string& out, std::span<const profile::Point> points, std::uint64_t duration_ns,
                const PlotStyle& style) {
  static constexpr std::array kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array kAscii{" ", " ", ".", ".", ":", ":", "|", "|", "#"};
  constexpr std::size_t kAxis = 12;  // "  1023 MiB |"
  const std::size_t columns = std::max<std::size_t>(style.width, kAxis + 10) - kAxis;
  const std::vector<std::uint64_t> highest = slices(points, duration_ns, columns);
  const std::uint64_t peak = *std::max_element(highest.begin(), highest.end());
  const double eighths = static_cast<double>(8 * style.height);
  for (std::size_t row = style.height; row-- > 0;) {
    const bool labelled = row + 1 == style.height || row == 0;
    const std::string label = !labelled ? "" : row == 0 ? "0 B" : bytes_text(static_cast<double>(peak));
    out += "  ";
    append_padded(out, label, kAxis - 4, Table::Align::right);
    out += " |";
    for (const std::uint64_t value : highest) {
      const double level = peak == 0 ? 0 : std::ceil(static_cast<double>(value) / static_cast<double>(peak) * eighths);
      const double here = std::clamp(level - static_cast<double>(8 * row), 0.0, 8.0);
      out += (style.unicode ? kBlocks : kAscii)[static_cast<std::size_t>(here)];
    }
    end_line(out);
  }
  const std::string end = time_text(static_cast<double>(duration_ns));
  out += std::string(kAxis - 1, ' ') + "0";
  append_padded(out, end, columns, Table::Align::right);
  end_line(out);
}

}  // namespace hearth::report
