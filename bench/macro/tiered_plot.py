"""Step time against fast capacity as an SVG: a panel for each model, a line for each policy. Nothing but text."""
import math
from xml.sax.saxutils import escape

from tiered_figures import cell_of

WIDTH, HEIGHT = 300, 220  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 28, 36
PANELS_IN_A_ROW = 4
LEGEND = 30
COLOURS = {"all-fast": "#555555", "all-slow": "#999999", "first-touch": "#e69f00", "interleave": "#56b4e9",
           "lru": "#009e73", "sentinel": "#d55e00", "tier-queue": "#cc79a7"}
OTHERS = ("#0072b2", "#000000", "#f0e442")
TICKS = (0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)


def colour_of(policy, policies):
    strangers = [name for name in policies if name not in COLOURS]
    return COLOURS.get(policy) or OTHERS[strangers.index(policy) % len(OTHERS)]


def points_of(summary, capacities, policy):
    """[(capacity, median, lower, upper)]"""
    found = [(capacity, summary.get(cell_of(capacity, policy))) for capacity in capacities]
    return [(capacity, *each["ratio"]) for capacity, each in found if each and each["ratio"]]


class Axes:
    """Both logarithmic; of one panel, whose corner is at (left, top)."""

    def __init__(self, corner, capacities, greatest):
        self._left, self._top = corner
        self._low, self._high = math.log(0.9), math.log(max(1.3, greatest * 1.08))
        self._first, self._last = math.log(min(capacities)), math.log(max(capacities))

    def x(self, capacity):
        span = self._last - self._first
        part = (math.log(capacity) - self._first) / span if span else 0.5
        return self._left + LEFT + 8 + part * (WIDTH - LEFT - RIGHT - 16)

    def y(self, ratio):
        part = (math.log(ratio) - self._low) / (self._high - self._low)
        return self._top + HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def ticks(self):
        return [tick for tick in TICKS if self._low <= math.log(tick) <= self._high]


def text(x, y, content, anchor="middle", size=11, fill="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">'
            f"{escape(str(content))}</text>")


def line(x1, y1, x2, y2, stroke, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'


def curve(axes, points, colour):
    parts = []
    if len(points) > 1:
        path = " ".join(f"{axes.x(capacity):.1f},{axes.y(median):.1f}" for capacity, median, _, _ in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    for capacity, median, lower, upper in points:
        parts.append(line(axes.x(capacity), axes.y(lower), axes.x(capacity), axes.y(upper), colour))
        parts.append(f'<circle cx="{axes.x(capacity):.1f}" cy="{axes.y(median):.1f}" r="2.6" fill="{colour}"/>')
    return parts


def panel(result, corner, capacities, policies):
    left, top = corner
    curves = {policy: points_of(result["summary"], capacities, policy) for policy in policies}
    greatest = max((point[3] for points in curves.values() for point in points), default=1)
    axes = Axes(corner, capacities, greatest)
    bottom = top + HEIGHT - BOTTOM
    parts = [text(left + WIDTH / 2, top + 16, result["model"], size=13)]
    for tick in axes.ticks():
        parts.append(line(left + LEFT, axes.y(tick), left + WIDTH - RIGHT, axes.y(tick), "#e4e4e4"))
        parts.append(text(left + LEFT - 5, axes.y(tick) + 4, f"{tick:g}", "end", 10))
    for capacity in capacities:
        parts.append(line(axes.x(capacity), bottom, axes.x(capacity), bottom + 4, "#888"))
        parts.append(text(axes.x(capacity), bottom + 15, capacity, size=10))
    parts.append(line(left + LEFT, bottom, left + WIDTH - RIGHT, bottom, "#888"))
    parts.append(text(left + (LEFT + WIDTH - RIGHT) / 2, bottom + 28, "fast capacity, % of peak", size=10))
    for policy, points in curves.items():
        parts += curve(axes, points, colour_of(policy, policies))
    return parts


def legend(policies, top):
    parts = []
    for i, policy in enumerate(policies):
        x = 20 + i * 110
        parts.append(line(x, top + 12, x + 18, top + 12, colour_of(policy, policies), 2.4))
        parts.append(text(x + 23, top + 16, policy, "start"))
    return parts


def svg(results, machine, capacities, policies):
    """The whole picture of one machine."""
    results = [each for each in results if each["machine"] == machine]
    in_a_row = max(1, min(PANELS_IN_A_ROW, len(results)))
    rows = max(1, math.ceil(len(results) / in_a_row))
    width = max(in_a_row * WIDTH, 20 + 110 * len(policies))
    height = 30 + LEGEND + rows * HEIGHT
    parts = [text(20, 20, f"Step time / all-fast, emulated {machine}", "start", 14), *legend(policies, 26)]
    for i, result in enumerate(results):
        corner = (i % in_a_row * WIDTH, 30 + LEGEND + i // in_a_row * HEIGHT)
        parts += panel(result, corner, capacities, policies)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif">')
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>"]) + "\n"
