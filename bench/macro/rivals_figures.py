"""The arithmetic of rivals.py: from the records of runs to figures, ratios within rounds, and means over models."""
import math
import statistics

import allocators
import runs

MIB = 1 << 20
# What a fault of a 4 KiB page is taken to cost on a machine that is not virtual, to take a dear fault out of a gain.
NORMAL_FAULT_NS = {"1 us": 1000, "0.5 us": 500}
MEASURED = "measured"


def measured_steps(record):
    """The last third of the steps, without what Hearth profiled and the step whose end opens the profile."""
    states = record["step_hearth_state"]
    profiled = {i for i, state in enumerate(states) if state == runs.STATE_PROFILE}
    third = range(len(states) - max(1, len(states) // 3), len(states))
    return [i for i in third if i not in profiled and i + 1 not in profiled]


def run_figures(record, report):
    """What one run contributes: the lists are per measured step; memory is in bytes."""
    steps = measured_steps(record)
    profile = report.get("profile") or {}
    return {
        "wall_ns": [record["step_wall_ns"][i] for i in steps],
        "cpu_ns": [record["step_cpu_ns"][i] for i in steps],
        "faults": [record["step_minor_faults"][i] for i in steps],
        "left_out": max(1, len(record["step_wall_ns"]) // 3) - len(steps),
        "peak_rss": record["peak_rss_bytes"],
        "end_rss": record["rss_at_end_bytes"],
        "hearth": report and {
            "state": report["state"],
            "peak_tensors": report["counters"]["peak_bytes"],
            "lower_bound": profile.get("peak_bytes"),
            "committed": report["heap"]["committed_bytes"],
        },
    }


def normalised_cpu(figures, fault_ns, normal_ns):
    """Median CPU time of a step, had its faults cost `normal_ns` each instead of `fault_ns`."""
    return statistics.median(cpu - faults * (fault_ns - normal_ns)
                             for cpu, faults in zip(figures["cpu_ns"], figures["faults"]))


def cpu_by_fault_cost(figures, fault_ns):
    return {MEASURED: statistics.median(figures["cpu_ns"]),
            **{label: normalised_cpu(figures, fault_ns, normal) for label, normal in NORMAL_FAULT_NS.items()}}


def relative_spread(values):
    """Interquartile range over median."""
    if len(values) < 2:
        return 0.0
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (upper - lower) / statistics.median(values)


def ratio_range(pairs):
    """(median, least, greatest) of the ratios of pairs, one a round; None without any or where one means nothing."""
    if not pairs or any(above <= 0 or below <= 0 for above, below in pairs):
        return None
    ratios = [above / below for above, below in pairs]
    return statistics.median(ratios), min(ratios), max(ratios)


def pairs_with(rounds, name, reference, figure):
    """(figure of `name`, figure of `reference`) of every round that has both."""
    return [(figure(each[name]), figure(each[reference])) for each in rounds if name in each and reference in each]


def pairs_with_best_rival(rounds, name, figure):
    """(figure of `name`, least figure of any rival) of every round. Hearth is no rival of itself or of another."""
    pairs = []
    for each in rounds:
        rivals = [figure(run) for rival, run in each.items() if rival != allocators.HEARTH]
        if name in each and rivals:
            pairs.append((figure(each[name]), min(rivals)))
    return pairs


def median_of(key):
    return lambda figures: statistics.median(figures[key])


def pooled(present, key):
    return [value for figures in present for value in figures[key]]


def summarise(rounds, names, fault_ns):
    """Per allocator its figures over all rounds; `rounds` are complete ones, {allocator: run_figures}."""
    summary = {}
    for name in names:
        present = [each[name] for each in rounds if name in each]
        if not present:
            continue
        wall, cpu, faults = (pooled(present, key) for key in ("wall_ns", "cpu_ns", "faults"))
        by_cost = [cpu_by_fault_cost(figures, fault_ns) for figures in present]
        summary[name] = {
            "rounds": len(present),
            "wall_ns": statistics.median(wall), "wall_spread": relative_spread(wall),
            "cpu_ns": statistics.median(cpu), "cpu_spread": relative_spread(cpu),
            "wall_to_best": ratio_range(pairs_with_best_rival(rounds, name, median_of("wall_ns"))),
            "cpu_to_best": ratio_range(pairs_with_best_rival(rounds, name, median_of("cpu_ns"))),
            "hearth_wall": ratio_range(pairs_with(rounds, allocators.HEARTH, name, median_of("wall_ns"))),
            "faults": statistics.mean(faults),
            "peak_rss": statistics.median(figures["peak_rss"] for figures in present),
            "end_rss": statistics.median(figures["end_rss"] for figures in present),
            "rss_to_tuned": ratio_range(pairs_with(rounds, name, allocators.TUNED_GLIBC, lambda f: f["peak_rss"])),
            "rss_to_best": ratio_range(pairs_with_best_rival(rounds, name, lambda f: f["peak_rss"])),
            "cpu_by_fault_cost": {key: statistics.median(each[key] for each in by_cost) for key in by_cost[0]},
            "hearth_cpu": {key: ratio_range(pairs_with(
                rounds, allocators.HEARTH, name, lambda f, key=key: cpu_by_fault_cost(f, fault_ns)[key]))
                for key in by_cost[0]},
            "left_out": max(figures["left_out"] for figures in present),
            "hearth": present[-1]["hearth"],
        }
    return summary


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None


def ratios_of(summary_of_one):
    """The ratios that are averaged over models: {column: median of the rounds}; None where there is none."""
    ranges = {
        "wall_to_best": summary_of_one["wall_to_best"],
        "cpu_to_best": summary_of_one["cpu_to_best"],
        "rss_to_best": summary_of_one["rss_to_best"],
        "rss_to_tuned": summary_of_one["rss_to_tuned"],
        "hearth_wall": summary_of_one["hearth_wall"],
        **{f"hearth_cpu {key}": value for key, value in summary_of_one["hearth_cpu"].items()},
    }
    return {column: value and value[0] for column, value in ranges.items()}


def means_over_models(summaries, names):
    """Per allocator {"models": n, column: geometric mean or None}; only over models that every allocator finished.

    A mean over other models than its neighbour's would compare nothing. An allocator that finished none is left out
    first, so that one that is broken does not empty the table."""
    names = [name for name in names if any(name in summary for summary in summaries)]
    common = [summary for summary in summaries if all(name in summary for name in names)]
    means = {}
    for name in names:
        columns = [ratios_of(summary[name]) for summary in common]
        means[name] = {"models": len(common)}
        for column in columns[0] if columns else ():
            values = [ratios[column] for ratios in columns]
            means[name][column] = None if None in values else geometric_mean(values)
    return means


def seconds_left(remaining, durations):
    """Seconds that the `remaining` runs, keys (python, model, allocator), will take by the `durations` of others.

    Known best from the same run in an earlier round, else from the same model, else from any; None without any."""
    if not durations:
        return None
    every = [value for values in durations.values() for value in values]

    def expected(key):
        same_model = [value for other, values in durations.items() if other[:2] == key[:2] for value in values]
        return statistics.fmean(durations.get(key) or same_model or every)

    return sum(expected(key) for key in remaining)
