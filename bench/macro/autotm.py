#!/usr/bin/env python3
"""How far from the optimum are the policies, and what does the optimum take to find?

Traces one iteration of each model of bench/models and has the simulator tell how long it takes on a slow tier: under
first-touch, sentinel, and autotm in its three modes, where the slow memory is 8, 4 and 1 times the fast one, against
everything fast. Nothing but the trace is measured. Prints Markdown; --json keeps all figures.

Trainings compute with one thread, and the machine is scaled to that, as in tiered.py. --default-sizes takes the models
as bench/models has them: minutes for each trace, more for each program."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import runs
import tiered

SCHEMA_VERSION = 1
SIZES = {"8:1": "11.1%", "4:1": "20%", "1:1": "50%"}  # slow to fast, and the fast one's share of the peak
MODES = ("static", "synchronous", "asynchronous")
STEPS = 10


def trace(model, python, library, path, options, mode="ops"):
    steps = runs.DEFAULT_STEPS.get(model, STEPS)
    done = runs.run(model, mode, python, library, ["--steps", steps, "--threads", 1, *options],
                    settings=(f"HEARTH_TRACE={path}",))
    if done.error or not path.is_file():
        sys.exit(f"{model}: {done.error or 'no trace was written'}")


def sweep(tool, path, machine, mode, seconds, slots, options=()):
    command = [tool, "sweep", str(path), "--machine", str(machine), "--sizes", ",".join(SIZES.values()), "--autotm",
               "--mode", mode, "--time-limit", str(seconds), "--slots", str(slots), "--json", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {runs.last_line(done.stderr)}")
    return json.loads(done.stdout)


def figures_of(model, swept):
    """One model's figures, from its sweeps by mode."""
    any_mode = swept[MODES[-1]]
    figures = {"model": model, "ops": any_mode["ops"], "peak_bytes": any_mode["peak_bytes"],
               "all_fast_ns": any_mode["all_fast_ns"], "all_slow_ns": any_mode["all_slow_ns"], "points": {}}
    for at, ratio in enumerate(SIZES):
        point = any_mode["points"][at]
        steps = {"all-slow": any_mode["all_slow_ns"], **{name: point["step_ns"][name] for name in ("first-touch", "sentinel")}}
        steps.update({mode: swept[mode]["points"][at]["step_ns"][f"autotm-{mode}"] for mode in MODES})
        programs = {mode: swept[mode]["points"][at]["autotm"] for mode in MODES}
        figures["points"][ratio] = {"fast_bytes": point["fast_bytes"], "step_ns": steps, "autotm": programs}
    return figures


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def header(*names):
    return [row(*names), row(*["---"] * len(names))]


def times_table(models, ratio):
    """Step times as multiples of everything fast, and their geometric mean over the models."""
    policies = ("all-slow", "first-touch", *MODES, "sentinel")
    times = [{name: each["points"][ratio]["step_ns"][name] / each["all_fast_ns"] for name in policies} for each in models]
    lines = header("model", *policies)
    lines += [row(f"`{each['model']}`", *(f"{time[name]:.2f}" for name in policies)) for each, time in zip(models, times)]
    lines.append(row("geometric mean", *(f"{geomean([time[name] for time in times]):.2f}" for name in policies)))
    return lines


def gaps_table(models, ratio):
    """How much longer sentinel's step is than that of the best schedule found, and what finding it took."""
    lines = header("model", "ops", "sentinel", "above the bound", "columns", "rows", "solved in", "gap", "memory")
    gaps = []
    for each in models:
        point = each["points"][ratio]
        program = point["autotm"][MODES[-1]]
        gaps.append(point["step_ns"]["sentinel"] / point["step_ns"][MODES[-1]])
        lines.append(row(f"`{each['model']}`", each["ops"], f"{(gaps[-1] - 1) * 100:+.1f} %",
                         f"{(point['step_ns']['sentinel'] / program['bound_ns'] - 1) * 100:+.1f} %", program["columns"],
                         program["rows"],
                         f"{program['solve_seconds']:.1f} s", f"{program['gap'] * 100:.1f} %",
                         f"{program['peak_bytes'] / 2**20:.0f} MiB"))
    lines.append(row("geometric mean", "", f"{(geomean(gaps) - 1) * 100:+.1f} %", *[""] * 6))
    return lines


def markdown(results):
    models = results["models"]
    lines = [f"{results['solver']}, {results['seconds']:g} s for each program, {results['machine']}, simulated."]
    for ratio in SIZES:
        lines += ["", f"Slow to fast memory {ratio}; step time, everything fast = 1:", "", *times_table(models, ratio)]
    lines += ["", "At 4:1, how much longer a step takes under sentinel than under the best schedule found:", "",
              *gaps_table(models, "4:1")]
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = runs.PROJECT / "build"
    parser.add_argument("--model", nargs="+", choices=runs.MODELS, default=list(runs.MODELS))
    parser.add_argument("--python", default=runs.default_pythons()[0])
    parser.add_argument("--library", default=build / "lib" / "libhearth.so")
    parser.add_argument("--tool", default=build / "bin" / "hearth")
    parser.add_argument("--machine", default="optane-100")
    parser.add_argument("--time-limit", type=float, default=20, help="seconds for each program (default 20)")
    parser.add_argument("--slots", type=int, default=192)
    parser.add_argument("--default-sizes", action="store_true", help="of the models, instead of tiered.py's short ones")
    parser.add_argument("--traces", type=pathlib.Path, help="keep traces here, and take those that are there")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    return parser.parse_args()


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="hearth-autotm-") as folder:
        traces = arguments.traces or pathlib.Path(folder)
        traces.mkdir(parents=True, exist_ok=True)
        machine = tiered.machine_file(arguments.tool, arguments.machine, arguments.python, traces / f"{arguments.machine}.json")
        results = {"schema_version": SCHEMA_VERSION, "simulated": True, "machine": arguments.machine,
                   "seconds": arguments.time_limit, "slots": arguments.slots, "models": []}
        for model in arguments.model:
            options = () if arguments.default_sizes else tiered.SHORT_SIZES.get(model, ())
            path = traces / f"{model}{'' if arguments.default_sizes else '-short'}.trace"
            if not path.is_file():
                runs.progress(f"tracing {model}")
                trace(model, arguments.python, arguments.library, path, options)
            swept = {}
            for mode in MODES:
                runs.progress(f"{model}, {mode}")
                swept[mode] = sweep(arguments.tool, path, machine, mode, arguments.time_limit, arguments.slots)
            results["models"].append(figures_of(model, swept))
            results["solver"] = swept[MODES[-1]]["points"][0]["autotm"]["solver"]
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
