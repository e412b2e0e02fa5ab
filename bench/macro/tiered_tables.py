"""What tiered.py prints: Markdown from its results, complete or not."""
import runs
from tiered_figures import LATEST_ADOPTION, MIB, cell_of, foreseen_error, means

COLUMNS = ("policy", "step, ms", "against all-fast", "most fast, MiB", "fast on average, MiB", "to fast, MiB per step",
           "to slow, MiB per step", "waited for moves, ms per step", "served slow, MiB per step",
           "charged, ms per step", "foreseen, ms", "error", "adopted after", "followed")


def ranged(values, form, scale=1):
    if values is None:
        return "-"
    median, lower, upper = (f"{value / scale:{form}}" for value in values)
    return f"{median} [{lower} .. {upper}]"


def figure(value, scale=1, form=".1f"):
    return "-" if value is None else f"{value / scale:{form}}"


def row(policy, each):
    error = foreseen_error(each)
    late = each["adopted_after"] > LATEST_ADOPTION
    return (policy, ranged(each["step_ns"], ".1f", 1e6), ranged(each["ratio"], ".3f"),
            figure(each["fast_peak"], MIB), figure(each["fast_average"], MIB), figure(each["to_fast_per_step"], MIB),
            figure(each["to_slow_per_step"], MIB), figure(each["waited_ns_per_step"], 1e6, ".2f"),
            figure(each["slow_used_per_step"], MIB), figure(each["charged_ns_per_step"], 1e6),
            figure(each["foreseen_ns"], 1e6), "-" if error is None else f"{100 * error:+.1f} %",
            f"**{each['adopted_after']}**" if late else str(each["adopted_after"]), f"{100 * each['followed']:.0f} %")


def capacity_table(summary, capacity, policies):
    rows = []
    for policy in policies:
        each = summary.get(cell_of(capacity, policy))
        rows.append(row(policy, each) if each else (policy, "**no run of it succeeded**", *[""] * (len(COLUMNS) - 2)))
    return runs.markdown(COLUMNS, rows)


def model_section(result, capacities, policies):
    summary = result["summary"]
    peaks = [each["peak"] for each in summary.values() if each["peak"]]
    peak = f"peak of tensors {max(peaks) / MIB:.0f} MiB" if peaks else "its peak is not known"
    lines = [f"### {result['model']} on {result['machine']}", "",
             f"{' '.join(result['options']) or 'default sizes'}; {peak}; rounds: {result['complete_rounds']}"]
    for capacity in capacities:
        sizes = {each["capacity_bytes"] for cell, each in summary.items() if cell[0] == capacity}
        size = f", {max(sizes) / MIB:.1f} MiB" if sizes else ""
        lines += ["", f"Fast capacity {capacity} %{size}:", "", capacity_table(summary, capacity, policies)]
    lines += [f"- **failed**: {text}" for text in result["errors"]]
    lines += [f"- **DIFFERENT RESULTS**: {text}" for text in result["differences"]]
    if not result["differences"] and summary:
        lines += ["", "Losses and trained parameters of every run are those of the plain run, bit for bit."]
    return "\n".join(lines)


def means_table(results, machine, capacities, policies):
    of_machine = [each["summary"] for each in results if each["machine"] == machine]
    found = means(of_machine, capacities, policies)
    rows = []
    for policy in policies:
        cells = [found.get((capacity, policy)) for capacity in capacities]
        rows.append((policy, *("-" if cell is None or cell[0] is None else f"{cell[0]:.3f}" for cell in cells)))
    models = [max((count for (at, _), (_, count) in found.items() if at == capacity), default=0)
              for capacity in capacities]
    rows.append(("models", *models))
    return runs.markdown(("policy", *(f"{capacity} %" for capacity in capacities)), rows)


def document(facts, results, plan, interrupted=False):
    """`plan`: machines, capacities and policies, in their order."""
    lines = ["# Policies on an emulated slow tier", ""]
    lines += ["**Every figure here is an emulation** (docs/tiers.md says of what and how exact)."]
    if interrupted:
        lines += ["", "**Interrupted: only complete rounds are shown.**"]
    lines += ["", *(f"- {name}: {value}" for name, value in facts.items())]
    lines += ["", "## Step time against all-fast: geometric means over models"]
    for machine in plan["machines"]:
        lines += ["", f"{machine}, by fast capacity in percent of the model's peak:", "",
                  means_table(results, machine, plan["capacities"], plan["policies"])]
    lines += ["", "## Models"]
    for result in results:
        lines += ["", model_section(result, plan["capacities"], plan["policies"])]
    return "\n".join(lines) + "\n"
