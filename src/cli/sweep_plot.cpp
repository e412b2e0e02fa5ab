#include "cli/sweep_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hearth::cli {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 60, kRight = 150, kTop = 30, kBottom = 50;
constexpr const char* kColors[] = {"#8c564b", "#9467bd", "#ff7f0e", "#1f77b4", "#2ca02c"};

// From what is drawn to where on the page.
struct Axes {
  double most = 2;  // multiples of everything fast

  double x(double share) const { return kLeft + share * (kWidth - kLeft - kRight); }
  double y(double times) const { return kHeight - kBottom - (times - 1) / (most - 1) * (kHeight - kTop - kBottom); }
};

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' {}/>\n", x1, y1, x2, y2, style);
}

std::string text(double x, double y, const char* anchor, const std::string& what) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n", x, y, anchor, what);
}

std::string axes_text(const Axes& axes) {
  std::string out;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    out += line(axes.x(tenth / 10.0), kTop, axes.x(tenth / 10.0), kHeight - kBottom, "stroke='#ddd'");
    out += text(axes.x(tenth / 10.0), kHeight - kBottom + 18, "middle", fmt::format("{} %", tenth * 10));
  }
  const double step = axes.most > 3 ? 0.5 : axes.most > 1.6 ? 0.2 : 0.1;
  for (double times = 1; times <= axes.most + 1e-9; times += step) {
    out += line(kLeft, axes.y(times), kWidth - kRight, axes.y(times), "stroke='#ddd'");
    out += text(kLeft - 6, axes.y(times) + 4, "end", fmt::format("{:.1f}", times));
  }
  out += text((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", "fast memory, of the peak of all tensors");
  out += text(kLeft, kTop - 12, "start", "simulated step time, 1 = everything fast");
  return out;
}

}  // namespace

Result<void> plot_sweep(const policy::Sweep& swept, std::uint64_t peak_bytes, const std::string& path) {
  Axes axes;
  double most = swept.all_slow_ns;
  for (const policy::SweepPoint& point : swept.points) {
    most = std::max(most, *std::max_element(point.step_ns.begin(), point.step_ns.end()));
  }
  axes.most = std::max(1.1, std::ceil(most / swept.all_fast_ns * 10) / 10);
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:g}' height='{1:g}' font-family='sans-serif' font-size='12'>\n"
      "<rect width='{0:g}' height='{1:g}' fill='white'/>\n",
      kWidth, kHeight);
  out += axes_text(axes);
  for (std::size_t p = 0; p < swept.policies.size(); ++p) {
    const char* color = kColors[p % std::size(kColors)];
    std::string points;
    for (const policy::SweepPoint& point : swept.points) {
      const double share = static_cast<double>(point.fast_bytes) / static_cast<double>(peak_bytes);
      points +=
          fmt::format("{:.1f},{:.1f} ", axes.x(std::min(share, 1.0)), axes.y(point.step_ns[p] / swept.all_fast_ns));
    }
    out += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>\n", points, color);
    const double y = kTop + 10 + 18 * static_cast<double>(p);
    out += line(kWidth - kRight + 10, y, kWidth - kRight + 30, y,
                fmt::format("stroke='{}' stroke-width='2'", color).c_str());
    out += text(kWidth - kRight + 36, y + 4, "start", swept.policies[p]);
  }
  out += "</svg>\n";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Error{"cannot write " + path};
  const bool whole = std::fwrite(out.data(), 1, out.size(), file) == out.size();
  return std::fclose(file) == 0 && whole ? Result<void>{} : Result<void>{Error{"cannot write " + path}};
}

}  // namespace hearth::cli
