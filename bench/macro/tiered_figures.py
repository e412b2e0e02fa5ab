"""The arithmetic of tiered.py: from records and reports of runs to figures, ratios within rounds, means over models."""
import statistics

import runs
from rivals_figures import geometric_mean

MIB = 1 << 20
STATE_MANAGED = 4  # hearth_state in include/hearth/hearth.h
ALL_FAST, ALL_SLOW = "all-fast", "all-slow"
WITHOUT_CAPACITY = (ALL_FAST, ALL_SLOW)
# Iterations after the plan was adopted in which tensors still come to their places (src/runtime/judgement.cpp).
SETTLING = 3
LATEST_ADOPTION = 6  # iterations


def adopted_after(record):
    """Iterations until the policy's plan was followed; None if it never was."""
    states = record["step_hearth_state"]
    return next((i for i, state in enumerate(states) if state == STATE_MANAGED), None)


def measured_steps(record):
    """Steps since the plan was adopted and has settled, whether it is still followed or not; without any that Hearth
    profiled and the step whose end opens the profile. Empty if there are none."""
    first = adopted_after(record)
    if first is None:
        return []
    states = record["step_hearth_state"]
    profiled = {i for i, state in enumerate(states) if state == runs.STATE_PROFILE}
    return [i for i in range(first + SETTLING, len(states)) if i not in profiled and i + 1 not in profiled]


def run_figures(record, report):
    """What one run contributes: bytes and nanoseconds, of a step where the name says so."""
    tiers = report["tiers"]
    steady = tiers["steady"]
    count = max(steady["iterations"], 1)
    return {
        "step_ns": [record["step_wall_ns"][i] for i in measured_steps(record)],
        "adopted_after": adopted_after(record),
        "followed": sum(record["step_hearth_state"][i] == STATE_MANAGED for i in measured_steps(record)),
        "peak": (report.get("profile") or {}).get("peak_bytes"),
        "capacity_bytes": tiers["fast_capacity_bytes"],
        "fast_peak": tiers["fast_peak_bytes"],
        "fast_average": steady["fast_average_bytes"],
        "to_fast_per_step": steady["to_fast_bytes"] / count,
        "to_slow_per_step": steady["to_slow_bytes"] / count,
        "waited_ns_per_step": steady["waited_ns"] / count,
        "charged_ns_per_step": steady["charged_ns"] / count,
        "slow_used_per_step": steady["slow_bytes_used"] / count,
        "not_moved": tiers["not_moved"]["bytes"],
        "foreseen": tiers.get("foreseen"),
    }


def why_no_figures(record, report):
    """Why a run that ended well tells nothing of its policy, or empty."""
    tiers = report.get("tiers") or {"present": False}
    if not tiers["present"]:
        causes = [each["cause"] for each in report.get("degradations", []) if each["what"] == "tiers"]
        return f"there was one tier: {'; '.join(causes) or 'no report'}"
    if not measured_steps(record):
        after = adopted_after(record)
        return "no plan was followed" if after is None else f"followed after {after} iterations, too late to measure"
    return ""


def quartiles(values):
    """(median, lower quartile, upper quartile)"""
    if len(values) == 1:
        return (values[0],) * 3
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return median, lower, upper


def step_of(figures):
    return statistics.median(figures["step_ns"])


def summarise(rounds):
    """{cell: figures over the rounds}; a round is {cell: run_figures}, a cell (capacity in percent or None, policy).

    Ratios to all-fast compare runs of one round."""
    cells = sorted({cell for each in rounds for cell in each}, key=lambda cell: (cell[0] or 0, cell[1]))
    return {cell: summary_of(cell, rounds) for cell in cells}


def summary_of(cell, rounds):
    present = [each[cell] for each in rounds if cell in each]
    ratios = [step_of(each[cell]) / step_of(each[None, ALL_FAST])
              for each in rounds if cell in each and (None, ALL_FAST) in each]
    steps = [step for figures in present for step in figures["step_ns"]]
    summary = {"rounds": len(present), "step_ns": quartiles(steps), "ratio": quartiles(ratios) if ratios else None}
    for key in ("fast_peak", "fast_average", "to_fast_per_step", "to_slow_per_step", "waited_ns_per_step",
                "charged_ns_per_step", "slow_used_per_step", "capacity_bytes", "not_moved"):
        summary[key] = statistics.median(figures[key] for figures in present)
    summary["followed"] = sum(figures["followed"] for figures in present) / len(steps)
    summary["adopted_after"] = max(figures["adopted_after"] for figures in present)
    summary["peak"] = present[-1]["peak"]
    foreseen = [figures["foreseen"] for figures in present if figures["foreseen"]]
    summary["foreseen_ns"] = statistics.median(each["step_ns"] for each in foreseen) if foreseen else None
    return summary


def with_foreseen_ends(summary, rounds):
    """Plans foresee what everything fast and everything slow would take as well: their rows get these."""
    plans = [figures["foreseen"] for each in rounds for figures in each.values() if figures["foreseen"]]
    for policy, key in ((ALL_FAST, "all_fast_ns"), (ALL_SLOW, "all_slow_ns")):
        if plans and (None, policy) in summary:
            summary[None, policy]["foreseen_ns"] = statistics.median(each[key] for each in plans)
    return summary


def foreseen_error(summary_of_one):
    """Of the simulator, against the median step; None where nothing was foreseen."""
    foreseen = summary_of_one["foreseen_ns"]
    return None if foreseen is None else foreseen / summary_of_one["step_ns"][0] - 1


def cell_of(capacity, policy):
    return (None if policy in WITHOUT_CAPACITY else capacity, policy)


def means(summaries, capacities, policies):
    """{(capacity, policy): (geometric mean of the ratios to all-fast, models)}, over the models that have every policy
    at that capacity, so that all means of a capacity are over the same ones."""
    result = {}
    for capacity in capacities:
        cells = [cell_of(capacity, policy) for policy in policies]
        cells = [cell for cell in cells if any(cell in each for each in summaries)]
        common = [each for each in summaries if all(each.get(cell, {}).get("ratio") for cell in cells)]
        for cell in cells:
            mean = geometric_mean([each[cell]["ratio"][0] for each in common])
            result[capacity, cell[1]] = (mean, len(common))
    return result


def ordered(policies):
    """The ends of the scale around the others, plans first."""
    known = (ALL_FAST, "sentinel", "tier-queue", "lru", "interleave", "first-touch", ALL_SLOW)
    return sorted(policies, key=lambda name: known.index(name) if name in known else 1.5)


def steps_of(model, steps):
    """Steps that a run takes: what nothing repeats in is profiled late."""
    return steps + runs.DEFAULT_STEPS.get(model, 0)
