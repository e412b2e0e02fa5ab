"""What rivals.py prints: Markdown from its results, complete or not."""
import allocators
import runs
from rivals_figures import MEASURED, MIB, NORMAL_FAULT_NS, means_over_models

COLUMNS = ("allocator", "step, wall ms", "spread", "step, CPU ms", "spread", "wall against best rival",
           "CPU against best rival", "Hearth's wall against this", "faults per step", "peak RSS, MiB",
           "peak RSS against tuned glibc", "RSS at end, MiB")
COST_LABELS = (MEASURED, *NORMAL_FAULT_NS)
COST_COLUMNS = ("allocator", "faults per step",
                *(f"CPU ms, faults as {MEASURED}" if each == MEASURED else f"CPU ms, {each} a fault"
                  for each in COST_LABELS),
                *(f"Hearth against this, {each}" for each in COST_LABELS))
MEAN_COLUMNS = ("allocator", "models", "wall against best rival", "CPU against best rival",
                "peak RSS against best rival", "peak RSS against tuned glibc", "Hearth's wall against this",
                *(f"Hearth's CPU against this, {each}" for each in COST_LABELS))
MEAN_KEYS = ("wall_to_best", "cpu_to_best", "rss_to_best", "rss_to_tuned", "hearth_wall",
             *(f"hearth_cpu {each}" for each in COST_LABELS))


def number(value, form, scale=1):
    return "-" if value is None else f"{value / scale:{form}}"


def ranged(values):
    return "-" if values is None else f"{values[0]:.3f} [{values[1]:.3f} .. {values[2]:.3f}]"


def against(name, values):
    """A ratio of Hearth's to this allocator's; Hearth's own would be 1 whatever happened."""
    return "-" if name == allocators.HEARTH else ranged(values)


def row(name, each):
    return (name, number(each["wall_ns"], ".2f", 1e6), f"{100 * each['wall_spread']:.1f} %",
            number(each["cpu_ns"], ".2f", 1e6), f"{100 * each['cpu_spread']:.1f} %", ranged(each["wall_to_best"]),
            ranged(each["cpu_to_best"]), against(name, each["hearth_wall"]), f"{each['faults']:.0f}",
            number(each["peak_rss"], ".0f", MIB), ranged(each["rss_to_tuned"]), number(each["end_rss"], ".0f", MIB))


def cost_row(name, each):
    return (name, f"{each['faults']:.0f}",
            *(number(each["cpu_by_fault_cost"][label], ".2f", 1e6) for label in COST_LABELS),
            *(against(name, each["hearth_cpu"][label]) for label in COST_LABELS))


def absent_row(name, why, columns):
    return (name, f"**{why}**", *[""] * (len(columns) - 2))


def figure_table(result, names):
    """Every allocator asked for has a row: figures, or why there are none."""
    rows = []
    for name in names:
        if name in result["absent"]:
            rows.append(absent_row(name, result["absent"][name], COLUMNS))
        elif name in result["differences"]:
            rows.append(absent_row(name, "ERROR: " + result["differences"][name], COLUMNS))
        elif name in result["summary"]:
            rows.append(row(name, result["summary"][name]))
        else:
            rows.append(absent_row(name, "no run of a complete round succeeded", COLUMNS))
    return runs.markdown(COLUMNS, rows)


def hearth_line(each):
    seen = each["hearth"]
    if not seen:
        return "Hearth wrote no report: its figures may be those of another allocator."
    return (f"Hearth: state {seen['state']}; peak of tensors {number(seen['peak_tensors'], '.0f', MIB)} MiB; "
            f"lower bound {number(seen['lower_bound'], '.0f', MIB)} MiB, the most bytes alive at once in the "
            f"profiled iteration; its heap holds {number(seen['committed'], '.0f', MIB)} MiB of pages at the end.")


def best_rival_line(summary):
    """Against one rival throughout: the best of a round is partly luck, and another one each time."""
    rivals = {name: each for name, each in summary.items() if name != allocators.HEARTH and each["hearth_wall"]}
    if not rivals:
        return "No rival ran in a round with Hearth."
    lines = []
    for what, figure, ratio in (("wall", "wall_ns", lambda each: each["hearth_wall"]),
                                ("CPU", "cpu_ns", lambda each: each["hearth_cpu"][MEASURED])):
        best = min(rivals, key=lambda name: rivals[name][figure])
        lines.append(f"Best rival by {what} over all rounds: {best}; Hearth against it {ranged(ratio(rivals[best]))}.")
    return " ".join(lines)


def model_section(result, names):
    """Tables of one model with one PyTorch, once a round is complete."""
    lines = [f"## {result['model']}, PyTorch {result['torch']}", ""]
    if not result["summary"]:
        lines += ["No complete round.", ""]
    lines += [figure_table(result, names), ""]
    summary = {name: result["summary"][name] for name in names if name in result["summary"]}
    if allocators.HEARTH in summary:
        lines += [hearth_line(summary[allocators.HEARTH]), "", best_rival_line(summary), ""]
    for name, each in summary.items():
        if each["left_out"]:
            lines += [f"{name}: up to {each['left_out']} steps of the measured third were profiled or next to it and "
                      "are left out; more --steps avoid that.", ""]
    if summary:
        lines += [runs.markdown(COST_COLUMNS, [cost_row(name, each) for name, each in summary.items()]), ""]
    lines += [f"- failed: {error}" for error in result["errors"]] + ([""] if result["errors"] else [])
    return "\n".join(lines)


def means_section(version, results, names):
    summaries = [result["summary"] for result in results if result["summary"]]
    means = means_over_models(summaries, names)
    rows = [(name, f"{each['models']} of {len(results)}", *(number(each.get(key), ".3f") for key in MEAN_KEYS))
            for name, each in means.items()]
    return (f"## Geometric means over models, PyTorch {version}\n\n"
            "Over the models that every allocator below finished.\n\n" + runs.markdown(MEAN_COLUMNS, rows) + "\n")


def cost_text(cost, unit, scale):
    if cost is None:
        return "not available"
    return (f"{cost['median'] / scale:.2f} {unit} (median of {cost['samples']}, {cost['min'] / scale:.2f} .. "
            f"{cost['max'] / scale:.2f})")


def preface(machine, fault_cost, names):
    """Where, how, and what the normalised columns mean."""
    lines = ["# Hearth and its rivals", "",
             ", ".join(f"{key} {value}" for key, value in machine.items()) + ".", "",
             runs.markdown(("allocator", "what"), [(name, allocators.ALLOCATORS[name].summary)
                                                   for name in names]), ""]
    lines += [f"A page fault on this machine: 4 KiB {cost_text(fault_cost['small_page_ns'], 'us', 1e3)}; 2 MiB "
              f"{cost_text(fault_cost['huge_page_ns'], 'us', 1e3)}. A virtual machine's faults are dearer than "
              "others', and whoever avoids faults gains more on it. The columns \"us a fault\" take that out: CPU "
              "time minus faults x (measured cost - cost named). They count a 2 MiB fault as one of 4 KiB, so "
              "allocators that get huge pages while they are measured look dearer in them than they are.", "",
              "Ratios are of runs of one round: median [least .. greatest]; below 1 is less than the rival. The best "
              "rival is the least of all in that round, so the luckiest counts. Spread is the interquartile range of "
              "the steps over their median.", ""]
    return "\n".join(lines)


def document(machine, fault_cost, results, names, interrupted):
    parts = [preface(machine, fault_cost, names)]
    if interrupted:
        parts.append("**Interrupted: only complete rounds are shown.**\n")
    parts += [model_section(result, names) for result in results]
    for version in dict.fromkeys(result["torch"] for result in results):
        of_version = [result for result in results if result["torch"] == version]
        if any(result["summary"] for result in of_version):
            parts.append(means_section(version, of_version, names))
    return "\n".join(parts)
