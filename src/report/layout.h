// Layout of text for people: sizes, times, shares, tables and a plot. Shared by the summary at exit and `hearth
// report`. Pure functions; they allocate. Widths count UTF-8 code points. No locale: a decimal point is a point.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace hearth::report {

std::string bytes_text(double bytes);                  // "0 B", "1.50 KiB", "12.3 MiB"
std::string time_text(double ns);                      // "850 ns", "1.20 ms", "3.41 s"
std::string number_text(double number, int decimals);  // "2.50"
std::string count_text(std::uint64_t count);           // "12,345"
std::string percent_text(double share);                // 0.5 -> "50.0 %"
std::string touches_text(double touches);              // "12.0", "0.046", "-" for none
// Touches per byte that bucket k of the classes holds: "< 1", "1 .. 2", ">= 4".
std::string bucket_text(std::uint32_t bucket, double base, std::uint32_t buckets);

// An op's name without what all ops of its kind share: the engine's scope around an autograd node.
std::string op_text(std::string_view name);

// At most `width` code points; a longer text loses its middle to "...", since names differ at both ends.
std::string shortened(std::string_view text, std::size_t width);

class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
    bool flexible = false;  // is shortened if the table is wider than asked for
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Appends the table, indented by two, to `out`; lines are at most `width` wide if the flexible columns allow it.
  void write(std::string& out, std::size_t width) const;

 private:
  std::vector<std::size_t> fitted_widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

struct PlotStyle {
  std::size_t width = 80;
  std::size_t height = 8;
  bool unicode = true;
};

// Live bytes over time as a filled curve with its axes. A column shows the highest value in its slice of time.
void write_plot(std::string& out, std::span<const profile::Point> points, std::uint64_t duration_ns,
                const PlotStyle& style);

}  // namespace hearth::report
