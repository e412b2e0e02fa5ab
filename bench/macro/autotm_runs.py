#!/usr/bin/env python3
"""Do steps under AutoTM's plans take what the simulator says?

Traces one iteration of each model of bench/models (HEARTH_PROFILE=faults, as trainings profile themselves), makes plans of it (autotm in its three modes, sentinel) where the slow
memory is 8, 4 and 1 times the fast one, and trains under each on the emulated slow tier, and under first-touch, everything
slow and everything fast: step times against everything fast, beside what was simulated. Every run must compute what the
plain one does, bit for bit; exit status 1 otherwise. Prints Markdown; --json keeps all figures.

Threads and machine are those of tiered.py --short, and so are sizes, but with --default-sizes: then it takes two hours.
Figures are written to --json after each model."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import autotm
import identity
import runs
import tiered
import tiered_figures as figures
from rivals_figures import geometric_mean

SCHEMA_VERSION = 1
STEPS = 11
PLANS = ("sentinel", *autotm.MODES)
ROOM = 65 / 64  # what plans leave free for what they do not foresee


def sizes(model, arguments):
    return () if arguments.default_sizes else tiered.SHORT_SIZES.get(model, ())


def plan(tool, trace, machine, share, own_ms, name, seconds, path):
    """What the tool says of the plan that it wrote. `own_ms`: what a step computes that is not traced."""
    policy = ["--policy", "sentinel"] if name == "sentinel" else ["--policy", "autotm", "--mode", name, "--time-limit", str(seconds)]
    command = [str(tool), "plan", str(trace), "--fast", share, "--machine", str(machine), "--step-ms", str(own_ms), *policy,
               "-o", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {runs.last_line(done.stderr)}")
    return json.loads(done.stdout)["tiers"]


class Model:
    """One model's runs."""

    def __init__(self, name, arguments, trace, machine):
        self.name, self.arguments, self.trace, self.machine = name, arguments, trace, machine
        self.problems, self.own_ms = [], 0  # what the last run's steps computed
        self.plain = self.run("plain")
        if self.plain.error:
            sys.exit(f"{name} fails without Hearth: {self.plain.error}")
        self.all_fast_ns = self.step_ns("everything fast", "HEARTH_POLICY=all-fast")
        self.all_fast_own_ms = self.own_ms
        self.all_slow_ns = self.step_ns("everything slow", "HEARTH_POLICY=all-slow")  # knows no capacity

    def run(self, mode, *settings):
        options = ["--steps", figures.steps_of(self.name, self.arguments.steps), "--threads", 1, *sizes(self.name, self.arguments)]
        tiers = ("HEARTH_TIERS=emulated", f"HEARTH_MACHINE={self.machine}", "HEARTH_TRIALS=0") if mode != "plain" else ()
        return runs.run(self.name, mode, self.arguments.python, self.arguments.library, options, settings=(*tiers, *settings))

    def step_ns(self, what, *settings):
        """The median of the measured steps; None if the run is no good."""
        run = self.run("faults", *settings)
        problem = run.error or figures.why_no_figures(run.record, run.report)
        different = [] if problem else identity.identity_faults(self.plain, run)
        if problem or different:
            self.problems.append(f"{self.name}, {what}: {problem or '; '.join(different)}")
            return None
        steady = run.report["tiers"]["steady"]
        self.own_ms = (steady["duration_ns"] - steady["charged_ns"] - steady["waited_ns"]) / steady["iterations"] / 1e6
        return statistics.median(run.record["step_wall_ns"][i] for i in figures.measured_steps(run.record))

    def point(self, ratio, folder):
        share, steps, simulated, capacity = autotm.SIZES[ratio], {"all-slow": self.all_slow_ns}, {}, 0
        own_ms = self.all_fast_own_ms
        for name in PLANS:
            path = folder / f"{name}.json"
            made = plan(self.arguments.tool, self.trace, self.machine, share, own_ms, name, self.arguments.time_limit, path)
            capacity = int(made["fast_capacity_bytes"] * ROOM)
            simulated[name] = made["simulated_step_ns"] / made["all_fast_ns"]
            steps[name] = self.step_ns(f"{name} at {ratio}", f"HEARTH_PLAN={path}", f"HEARTH_FAST_CAPACITY={capacity}")
        steps["first-touch"] = self.step_ns(f"first-touch at {ratio}", "HEARTH_POLICY=first-touch", f"HEARTH_FAST_CAPACITY={capacity}")
        return {"step_ns": steps, "simulated": simulated}


def table(results, ratio):
    names = ("all-slow", "first-touch", "static", "synchronous", "asynchronous", "sentinel")
    lines = autotm.header("model", *names)
    ratios = {name: [] for name in names}
    for each in results["models"]:
        point, cells = each["points"][ratio], []
        for name in names:
            step = point["step_ns"][name]
            if step is None:
                cells.append("-")
                continue
            ratios[name].append(step / each["all_fast_ns"])
            foreseen = f" ({point['simulated'][name]:.2f})" if name in point["simulated"] else ""
            cells.append(f"{ratios[name][-1]:.2f}{foreseen}")
        lines.append(autotm.row(f"`{each['model']}`", *cells))
    lines.append(autotm.row("geometric mean", *(f"{geometric_mean(ratios[name]):.2f}" if ratios[name] else "-" for name in names)))
    return lines


def markdown(results):
    lines = [f"Step time, everything fast = 1; in parentheses what was simulated; {results['seconds']:g} s for each program."]
    for ratio in results["ratios"]:
        lines += ["", f"Slow to fast memory {ratio}:", "", *table(results, ratio)]
    lines += ["", *(f"**{problem}**" for problem in results["problems"])]
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = runs.PROJECT / "build"
    parser.add_argument("--model", nargs="+", choices=runs.MODELS, default=list(runs.MODELS))
    parser.add_argument("--ratios", nargs="+", choices=autotm.SIZES, default=list(autotm.SIZES))
    parser.add_argument("--python", default=runs.default_pythons()[0])
    parser.add_argument("--library", default=build / "lib" / "libhearth.so")
    parser.add_argument("--tool", default=build / "bin" / "hearth")
    parser.add_argument("--machine", default="optane-100")
    parser.add_argument("--default-sizes", action="store_true", help="of the models, instead of tiered.py's short ones")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each run (default {STEPS}; some models take more)")
    parser.add_argument("--time-limit", type=float, default=10, help="seconds for each program (default 10)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    return parser.parse_args()


def main():
    arguments = parse()
    results = {"schema_version": SCHEMA_VERSION, "seconds": arguments.time_limit, "ratios": arguments.ratios, "models": [],
               "problems": []}
    with tempfile.TemporaryDirectory(prefix="hearth-autotm-") as name:
        folder = pathlib.Path(name)
        machine = tiered.machine_file(arguments.tool, arguments.machine, arguments.python, folder / "machine.json")
        for model in arguments.model:
            trace = folder / f"{model}.trace"
            autotm.trace(model, arguments.python, arguments.library, trace, sizes(model, arguments), "faults")
            taken = Model(model, arguments, trace, machine)
            each = {"model": model, "all_fast_ns": taken.all_fast_ns, "points": {}}
            for ratio in arguments.ratios:
                runs.progress(f"{model}, {ratio}")
                each["points"][ratio] = taken.point(ratio, folder)
            results["problems"] += taken.problems
            if each["all_fast_ns"]:
                results["models"].append(each)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(markdown(results))
    return 1 if results["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
