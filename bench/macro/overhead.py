#!/usr/bin/env python3
"""What does Hearth cost? Step time of unprofiled steps against the plain run, and the slowdown of the profiled one.

Every round runs each mode once, in an order that rotates from round to round, so that drift of the machine hits all
modes alike. A run's figure is the median of its steps, without the first ones and without the profiled one; a
round's ratio is a mode's figure over the plain run's of the same round; shown are the median and the interquartile
range of the ratios. The fastest step of a run and CPU time are compared too: what else runs on the machine can only
make a step slower, so on a busy machine these two say more than the median of the wall times.

Modes: plain (no Hearth), disabled (HEARTH_ENABLE=0), observing (HEARTH_PROFILE=off), ops, faults, pages.
--quick: small sizes and few rounds, to see that it works; its figures say little."""
import os
import statistics
import sys

import runs

MODELS = ("tiny_mlp",) + runs.MODELS
WARM_UP_STEPS = 2  # the first one builds optimizer state and compiled kernels, the second one still grows caches


def steady_steps(record):
    """Numbers of the steps that count: neither warm-up, nor profiled, nor the one whose end opens the profile."""
    states = record["step_hearth_state"]
    profiled = {i for i, state in enumerate(states) if state == runs.STATE_PROFILE}
    return [i for i in range(min(WARM_UP_STEPS, len(states) - 1), len(states))
            if i not in profiled and i + 1 not in profiled]


def step_figures(record):
    """Of the steady steps: median wall time, CPU time and minor faults, and the shortest wall time."""
    steady = steady_steps(record)
    figures = {key: statistics.median(record[f"step_{key}"][i] for i in steady)
               for key in ("wall_ns", "cpu_ns", "minor_faults")}
    return {**figures, "fastest_ns": min(record["step_wall_ns"][i] for i in steady)}


def slowdown_by_steps(record):
    """The profiled step over the median steady one, as the workload's own clock saw it; None without a profile."""
    profiled = [i for i, state in enumerate(record["step_hearth_state"]) if state == runs.STATE_PROFILE]
    if not profiled:
        return None
    return {key: record[f"step_{key}"][profiled[0]] / step_figures(record)[key] for key in ("wall_ns", "cpu_ns")}


def spread(values):
    """(median, lower quartile, upper quartile), or None without values."""
    if not values:
        return None
    if len(values) == 1:
        return values[0], values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return statistics.median(values), lower, upper


def rotated(modes, round_number):
    shift = round_number % len(modes)
    return modes[shift:] + modes[:shift]


def measure(model, python, arguments):
    options = runs.step_options(model, arguments.steps or tiny_steps(model, arguments.quick), arguments.threads,
                                arguments.quick)
    rounds, errors = [], []
    for number in range(arguments.rounds):
        figures = {}
        for mode in rotated(arguments.mode, number):
            run = runs.run(model, mode, python, arguments.library, options, arguments.timeout, arguments.set)
            if run.error:
                errors.append(f"{mode}, round {number}: {run.error}")
                continue
            profiled = run.report.get("profiled_iteration") or {}
            figures[mode] = {**step_figures(run.record), "slowdown": profiled.get("slowdown"),
                             "fault_round_trip_ns": profiled.get("fault_round_trip_ns"),
                             "slowdown_by_steps": slowdown_by_steps(run.record),
                             "steps_wall_ns": run.record["step_wall_ns"], "steps_cpu_ns": run.record["step_cpu_ns"],
                             "peak_rss_bytes": run.record["peak_rss_bytes"],
                             "peak_tensor_bytes": (run.record["hearth"] or {}).get("peak_bytes"),
                             "faults_caught": (run.report.get("guard") or {}).get("faults")}
        rounds.append(figures)
    return {"rounds": rounds, "errors": errors, "summary": summarise(rounds, arguments.mode)}


def tiny_steps(model, quick):
    """Steps of a millisecond need many of them for a steady median; 0 for the other models: as usual."""
    return {"tiny_mlp": 100 if quick else 600}.get(model, 0)


def summarise(rounds, modes):
    summary = {}
    for mode in modes:
        present = [figures[mode] for figures in rounds if mode in figures]
        pairs = [(figures[mode], figures["plain"]) for figures in rounds if mode in figures and "plain" in figures]
        by_steps = [each["slowdown_by_steps"] for each in present if each["slowdown_by_steps"]]
        summary[mode] = {
            "wall_ms": spread([each["wall_ns"] / 1e6 for each in present]),
            "wall_ratio": spread([ours["wall_ns"] / plain["wall_ns"] for ours, plain in pairs]),
            "fastest_ratio": spread([ours["fastest_ns"] / plain["fastest_ns"] for ours, plain in pairs]),
            "cpu_ratio": spread([ours["cpu_ns"] / plain["cpu_ns"] for ours, plain in pairs]),
            "minor_faults": spread([each["minor_faults"] for each in present]),
            "slowdown": spread([each["slowdown"] for each in present if each["slowdown"]]),
            "slowdown_wall": spread([each["wall_ns"] for each in by_steps]),
            "slowdown_cpu": spread([each["cpu_ns"] for each in by_steps]),
            "fault_round_trip_ns": spread([e["fault_round_trip_ns"] for e in present if e["fault_round_trip_ns"]]),
        }
    return summary


def shown(values, form):
    return "-" if values is None else f"{values[0]:{form}} [{values[1]:{form}} - {values[2]:{form}}]"


def table(results, modes):
    columns = ("PyTorch", "model", "mode", "ms per step", "wall against plain", "fastest step against plain",
               "CPU against plain", "minor faults per step", "profiled iteration (report)", "profiled step, wall",
               "profiled step, CPU", "us per caught fault")
    rows = []
    for version, model, result in results:
        for mode in modes:
            each = result["summary"][mode]
            fault = each["fault_round_trip_ns"]
            rows.append((version, model, mode, shown(each["wall_ms"], ".2f"), shown(each["wall_ratio"], ".4f"),
                         shown(each["fastest_ratio"], ".4f"), shown(each["cpu_ratio"], ".4f"),
                         shown(each["minor_faults"], ".0f"), shown(each["slowdown"], ".2f"),
                         shown(each["slowdown_wall"], ".2f"),
                         shown(each["slowdown_cpu"], ".2f"), "-" if fault is None else f"{fault[0] / 1000:.1f}"))
    return runs.markdown(columns, rows)


def main():
    parser = runs.parser(__doc__)
    parser.add_argument("--mode", action="append", choices=list(runs.MODES), help="repeatable (default: all)")
    parser.add_argument("--rounds", type=int, help="default 5, with --quick 2")
    parser.add_argument("--steps", type=int, help="default 12, dlrm 30, tiny_mlp 600")
    parser.add_argument("--quick", action="store_true", help="small sizes, 2 rounds")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 5)
    arguments.mode = list(dict.fromkeys(["plain", *(arguments.mode or runs.MODES)]))
    versions = runs.check(arguments, MODELS)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {arguments.threads} threads, "
          f"{arguments.rounds} rounds, {'small' if arguments.quick else 'full'} sizes\n", flush=True)
    results = []
    for python, version in versions.items():
        for model in arguments.model:
            runs.progress(f"{model} on PyTorch {version}")
            result = measure(model, python, arguments)
            results.append((version, model, result))
            for error in result["errors"]:
                runs.progress(f"  {error}")
    print(table(results, arguments.mode))
    runs.save(arguments.json, [{"torch": v, "model": m, **r} for v, m, r in results])
    return 1 if any(result["errors"] for _, _, result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
