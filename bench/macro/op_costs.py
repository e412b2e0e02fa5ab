#!/usr/bin/env python3
"""Do the costs of slow operands add up, is the roofline right, and does it matter for the optimum?

Has `hearth profile-ops` measure the ops of models of bench/models, on an emulated tier, by where their operands lie, and
`hearth sweep --autotm` find the best schedule with them, with additive ones alone, and with the roofline. Prints Markdown; --json keeps
all figures. What has been measured into --costs is not measured again.

Trainings compute with one thread at tiered.py's short sizes, and the machine is scaled to that, as in autotm.py."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import autotm
import runs
import tiered

SCHEMA_VERSION = 1
MODELS = ("gpt2", "resnet50", "dcgan")
STEPS = 80  # profile-ops stops a run when it has seen enough of it
WORST = 6
FORMS = ("roofline", "additive", "measured")  # with the same own times


def measure(tool, model, python, library, machine, trace, costs):
    program = [python, runs.MODELS_FOLDER / f"{model}.py", "--steps", STEPS, "--threads", 1, *tiered.SHORT_SIZES[model]]
    command = [tool, "profile-ops", "--costs", costs, "--trace", trace, "--machine", machine, "--json", "--", *program]
    environment = {**runs.environment("plain", library, None), "HEARTH_LIBRARY": str(library)}
    done = subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{model}: hearth profile-ops ended with status {done.returncode}")
    return json.loads(done.stdout)


def optimum(swept):
    """{ratio: step times as multiples of everything fast, and the program's own gap}."""
    best = swept["all_fast_ns"]
    points = zip(autotm.SIZES, swept["points"])
    return {ratio: {"optimum": point["step_ns"]["autotm-asynchronous"] / best,
                    "sentinel": point["step_ns"]["sentinel"] / best, "gap": point["autotm"]["gap"]}
            for ratio, point in points}


def figures_of(arguments, model, folder, machine):
    trace = folder / f"{model}.trace"
    told = measure(arguments.tool, model, arguments.python, arguments.library, machine, trace, folder / "op-costs.json")
    figures = {"model": model, "told": told}
    for name in FORMS:
        runs.progress(f"{model}: the optimum, {name}")
        options = ("--op-costs", folder / "op-costs.json", "--op-form", name)
        swept = autotm.sweep(arguments.tool, trace, machine, "asynchronous", arguments.time_limit, arguments.slots, options)
        figures[name] = {"all_fast_ns": swept["all_fast_ns"], "all_slow_ns": swept["all_slow_ns"],
                         "op_costs": swept["op_costs"], "points": optimum(swept)}
    return figures


def percent(value):
    return f"{value * 100:.1f} %"


def additivity_table(models):
    lines = autotm.header("model", "ops, kinds", "placements", "several operands", "median error", "not additive",
                          "exact", "by the roofline", "all slow / the roofline's", "a kind's, median")
    for each in models:
        told, checked = each["told"], each["told"]["additivity"]
        extras = (told["slow_ns"] - told["fast_ns"], told["roofline_slow_ns"] - told["fast_ns"])
        lines.append(autotm.row(
            f"`{each['model']}`", f"{told['ops']}, {told['kinds']}", told["placements"], checked["kinds"],
            percent(checked["median_error"]), checked["exact"] + checked["neither"], checked["exact"], checked["neither"],
            f"{told['slow_ns'] / told['roofline_slow_ns']:.3f} (extras {extras[0] / extras[1]:.2f})",
            percent(told["median_roofline_error"])))
    return lines


def worst_table(models):
    lines = autotm.header("model", "op", "operands, MiB", "ops", "all fast", "singly slow", "all slow", "error", "form")
    for each in models:
        for op in each["told"]["additivity"]["checked"][:WORST]:
            sizes = ", ".join(f"{max(operand) / 2**20:.2f}" for operand in op["operands"])
            extra = sum(op["single_extras_ns"])
            lines.append(autotm.row(
                f"`{each['model']}`", f"`{op['op']}`", sizes, op["ops"], f"{op['fast_ns'] / 1e6:.2f} ms",
                f"+{extra / 1e6:.2f} ms", f"+{(op['all_slow_ns'] - op['fast_ns']) / 1e6:.2f} ms", percent(op["error"]),
                op["form"]))
    return lines


def optimum_table(models):
    lines = autotm.header("model", *(f"{ratio}, {name}" for ratio in autotm.SIZES for name in FORMS))
    for each in models:
        cells = [f"{each[name]['points'][ratio]['optimum']:.2f} ({percent(each[name]['points'][ratio]['gap'])})"
                 for ratio in autotm.SIZES for name in FORMS]
        lines.append(autotm.row(f"`{each['model']}`", *cells))
    return lines


def markdown(results):
    models = results["models"]
    lines = [f"{results['machine']}, emulated; the optimum: {results['seconds']:g} s for each program, simulated."]
    lines += ["", "Additivity, and all operands slow against the roofline:", "", *additivity_table(models)]
    lines += ["", "The least additive kinds:", "", *worst_table(models)]
    lines += ["", "Step time of the best schedule, everything fast = 1, and the gap of its program:", "", *optimum_table(models)]
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = runs.PROJECT / "build"
    parser.add_argument("--model", nargs="+", choices=sorted(tiered.SHORT_SIZES), default=list(MODELS))
    parser.add_argument("--python", default=runs.default_pythons()[0])
    parser.add_argument("--library", type=pathlib.Path, default=build / "lib" / "libhearth.so")
    parser.add_argument("--tool", type=pathlib.Path, default=build / "bin" / "hearth")
    parser.add_argument("--machine", default="optane-100")
    parser.add_argument("--time-limit", type=float, default=20, help="seconds for each program (default 20)")
    parser.add_argument("--slots", type=int, default=192)
    parser.add_argument("--costs", type=pathlib.Path, help="keep traces and costs in this folder, and go on with what is there")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    return parser.parse_args()


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="hearth-op-costs-") as temporary:
        folder = arguments.costs or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        machine = tiered.machine_file(arguments.tool, arguments.machine, arguments.python, folder / f"{arguments.machine}.json")
        results = {"schema_version": SCHEMA_VERSION, "machine": arguments.machine, "seconds": arguments.time_limit,
                   "models": [figures_of(arguments, model, folder, machine) for model in arguments.model]}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(markdown(results))


if __name__ == "__main__":
    main()
