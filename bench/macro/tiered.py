#!/usr/bin/env python3
"""How do policies compare that give a training little fast memory?

Trains the models of bench/models on an emulated slow tier, by fast capacity and policy, and compares step times with
everything fast in the same round. Prints Markdown: time, what was fast, what moved, what was waited for, what was used
from the slow tier, and what the simulator had foreseen. --svg draws it. Every run must compute the same losses and
parameters as the plain one, bit for bit.

Trainings compute with one thread, so that the movers have a processor of their own, as the hardware that is emulated
has processors to spare; the machine is scaled to what one thread computes (hearth probe --threads 1).

--short takes small batches, one machine and one capacity: some ten minutes on an idle machine. Without it: hours.
Ctrl-C prints the rounds that are complete; --resume goes on with what --json has."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import identity
import overhead
import rivals
import rivals_figures
import runs
import tiered_figures as figures
import tiered_plot
import tiered_tables

SCHEMA_VERSION = 1
MACHINES = ("optane-100", "cxl-x8")
CAPACITIES = (10, 20, 30, 50, 100)
SHORT_CAPACITIES = (20,)
STEPS, ROUNDS = 14, 3
SHORT_STEPS, SHORT_ROUNDS = 11, 1
# With one thread a step takes a fraction of a second; tensors are still far larger than what is managed at all.
SHORT_SIZES = {
    "resnet50": ("--batch", "2", "--image", "64", "--width", "32"),
    "mobilenetv2": ("--batch", "4", "--image", "64"),
    "dcgan": ("--batch", "4"),
    "vit": ("--batch", "1", "--layers", "4"),
    "lstm_lm": ("--batch", "4", "--length", "16"),
    "gpt2": ("--batch", "1", "--length", "128", "--layers", "4", "--width", "384"),
    "bert_base": ("--batch", "1", "--layers", "2", "--vocabulary", "4000", "--width", "384"),
    "dlrm": ("--rows", "20000", "--batch", "512", "--tables", "6"),
}
REFERENCE_KEYS = ("data_crc32", "losses", "result_crc32")


def policies_there_are(tool):
    done = subprocess.run([tool, "knobs"], capture_output=True, text=True, check=False)
    found = re.search(r"^HEARTH_POLICY\s+choice\s+\S+\s+\[([^\]]+)\]", done.stdout, re.MULTILINE)
    if not found:
        sys.exit(f"{tool} knobs names no policies: {runs.last_line(done.stderr)}")
    return found.group(1).split("|")


def machine_files(tool, names, python, threads, folder):
    """{name: what its machine.json holds}, scaled to what so many threads of this host compute."""
    cache = pathlib.Path(folder, "hearth", "machine.json")
    cache.parent.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
    environment["XDG_CACHE_HOME"] = str(folder)

    def probe(*options):
        done = subprocess.run([tool, "probe", "--threads", str(threads), *options], env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"hearth probe {' '.join(options)}: {runs.last_line(done.stderr)}")
        return done.stdout

    runs.progress("measuring this machine")
    probe("--python", str(python), "-o", str(cache))
    return {name: json.loads(probe("--scale", name, "--json")) for name in names}


def machine_file(tool, name, python, path):
    """The machine, scaled to what one thread of this host computes, in the file `path`: as it is if it is there."""
    if not path.is_file():
        with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
            contents = machine_files(str(tool), [name], python, 1, folder)[name]
        path.write_text(json.dumps(contents), encoding="utf-8")
    return path


class Cells:
    """One model on one machine: its rounds, and what went wrong in them."""

    def __init__(self, machine, model, options):
        self.machine, self.model, self.options = machine, model, options
        self.rounds, self.current = [], {}
        self.errors, self.differences = [], []

    def close_round(self):
        self.rounds.append(self.current)
        self.current = {}

    def result(self):
        complete = [each for each in self.rounds if each]
        summary = figures.with_foreseen_ends(figures.summarise(complete), complete)
        return {"machine": self.machine, "model": self.model, "options": self.options, "summary": summary,
                "complete_rounds": len(self.rounds), "errors": self.errors, "differences": self.differences}


class Programme:
    """All runs in their order, and the results so far."""

    def __init__(self, arguments, version, machines, policies, former):
        self._arguments, self._machines, self._policies = arguments, machines, policies
        self._facts = {"PyTorch": version, **rivals.machine_facts(arguments)}
        self._facts["sizes"] = "short" if arguments.short else "default"
        self._former = {tuple(each["key"]): each["figures"] for each in former.get("runs", []) if each["figures"]}
        self._references = former.get("references", {})
        self._done, self._durations = [], {}
        self._cells = [Cells(machine, model, self._sizes(model)) for machine in machines for model in arguments.model]
        self.interrupted = False
        asked = [(each, number, cell) for each in self._cells for number in range(arguments.rounds)
                 for cell in self._order(number)]
        self._remaining = [self._key(*each) for each in asked if self._key(*each) not in self._former]
        self._total = len(self._remaining)

    def _sizes(self, model):
        return list(SHORT_SIZES.get(model, ())) if self._arguments.short else []

    def _order(self, number):
        cells = {figures.cell_of(capacity, policy): None
                 for capacity in self._arguments.capacities for policy in self._policies}
        return overhead.rotated(list(cells), number)

    @staticmethod
    def _key(cells, number, cell):
        return cells.machine, cells.model, number, *cell

    def run(self):
        for cells in self._cells:
            for number in range(self._arguments.rounds):
                for cell in self._order(number):
                    self._take(cells, number, cell)
                cells.close_round()
                self.save()

    def _options(self, model):
        steps = figures.steps_of(model, self._arguments.steps)
        return ["--steps", steps, "--threads", self._arguments.threads, *self._sizes(model)]

    def _run(self, model, mode, settings=()):
        return runs.run(model, mode, self._arguments.python, self._arguments.library, self._options(model),
                        self._arguments.timeout, settings)

    def _reference(self, model):
        """What the plain run computed, as a run."""
        if model not in self._references:
            plain = self._run(model, "plain")
            if plain.error:
                raise RuntimeError(f"{model} fails without Hearth: {plain.error}")
            self._references[model] = {key: plain.record[key] for key in REFERENCE_KEYS}
        return runs.Run(model, "plain", "", record=self._references[model])

    def _take(self, cells, number, cell):
        key = self._key(cells, number, cell)
        if key in self._former:
            taken = self._former[key]
        else:
            begin = time.monotonic()
            taken = self._measure(cells, number, cell)
            self._tell(key, time.monotonic() - begin)
        self._done.append({"key": key, "figures": taken})
        if taken:
            cells.current[cell] = taken

    def _measure(self, cells, number, cell):
        """The run's figures; None if it failed or computed something else than the plain run did."""
        capacity, policy = cell
        name = f"{policy}{'' if capacity is None else f' at {capacity} %'}, round {number + 1}"
        try:
            reference = self._reference(cells.model)
        except RuntimeError as error:
            cells.errors.append(f"{name}: {error}")
            return None
        settings = ["HEARTH_TIERS=emulated", f"HEARTH_POLICY={policy}",
                    f"HEARTH_MACHINE={self._machines[cells.machine]}"]
        if capacity is not None:
            # The share that lies fast of each unit is what there is room for.
            settings += [f"HEARTH_FAST_CAPACITY={capacity}%", f"HEARTH_INTERLEAVE={capacity}"]
        run = self._run(cells.model, "faults", [*settings, *self._arguments.set])
        problem = run.error or figures.why_no_figures(run.record, run.report)
        if problem:
            cells.errors.append(f"{name}: {problem}")
            return None
        different = identity.identity_faults(reference, run)
        if different:
            cells.differences.append(f"{name}: {'; '.join(different)}")
            return None
        return figures.run_figures(run.record, run.report)

    def _tell(self, key, seconds):
        machine, model, number, capacity, policy = key
        self._durations.setdefault((machine, model, policy), []).append(seconds)
        self._remaining.remove(key)
        left = rivals_figures.seconds_left([(k[0], k[1], k[4]) for k in self._remaining], self._durations)
        at = "" if capacity is None else f" at {capacity} %"
        done = self._total - len(self._remaining)
        runs.progress(f"[{done}/{self._total}] {model} on {machine}, round {number + 1} of "
                      f"{self._arguments.rounds}, {policy}{at}: {seconds:.1f} s; about {rivals.duration(left)} left")
        self.save()

    def results(self):
        return [each.result() for each in self._cells if each.rounds or each.errors or each.differences]

    def _not_taken(self):
        """Former runs that have not come round yet: not to be lost where this ends early."""
        taken = {each["key"] for each in self._done}
        return [{"key": key, "figures": value} for key, value in self._former.items() if key not in taken]

    def save(self):
        """Replaces the JSON file as a whole: a reader, or a crash, never sees half of one."""
        if not self._arguments.json:
            return
        results = [{**each, "summary": [{"capacity_percent": cell[0], "policy": cell[1], **value}
                                        for cell, value in each["summary"].items()]} for each in self.results()]
        value = {"schema_version": SCHEMA_VERSION, "facts": self._facts, "settings": settings_of(self._arguments),
                 "machines": {name: json.loads(path.read_text(encoding="utf-8"))
                              for name, path in self._machines.items()},
                 "references": self._references, "runs": self._done + self._not_taken(),
                 "runs_left": len(self._remaining), "interrupted": self.interrupted, "results": results}
        part = pathlib.Path(f"{self._arguments.json}.part")
        runs.save(part, value)
        os.replace(part, self._arguments.json)

    def markdown(self):
        plan = {"machines": list(self._machines), "capacities": self._arguments.capacities, "policies": self._policies}
        return tiered_tables.document(self._facts, self.results(), plan, self.interrupted)

    def draw(self):
        for name in self._machines:
            path = pathlib.Path(f"{self._arguments.svg}-{name}.svg")
            path.write_text(tiered_plot.svg(self.results(), name, self._arguments.capacities, self._policies),
                            encoding="utf-8")
            runs.progress(f"drew {path}")

    def failed(self):
        return any(each.errors or each.differences for each in self._cells)


def settings_of(arguments):
    """What must be the same for runs to be gone on with."""
    return {"short": arguments.short, "steps": arguments.steps, "threads": arguments.threads, "set": arguments.set,
            "python": arguments.python, "models": arguments.model, "machines": arguments.machine,
            "capacities": arguments.capacities}


def numbers(text):
    values = [int(each) for each in text.split(",")]
    if not values or not all(1 <= value <= 100 for value in values):
        raise argparse.ArgumentTypeError(f"{text}: percentages from 1 to 100 with commas between them")
    return sorted(set(values))


def options():
    parser = runs.parser(__doc__)
    several = parser.add_argument_group("several values at a time", conflict_handler="resolve")
    several.add_argument("--model", nargs="+", action="extend", metavar="NAME", help="workloads (default: all)")
    several.add_argument("--python", metavar="PATH", help="interpreter with PyTorch (default: the first that "
                                                          "scripts/setup found)")
    several.add_argument("--threads", type=int, default=1, help="of PyTorch and its BLAS (default 1)")
    parser.add_argument("--short", action="store_true", help="small batches, optane-100, 20 %%, one round")
    parser.add_argument("--machine", nargs="+", metavar="NAME",
                        help=f"presets, scaled to this host (default {' '.join(MACHINES)})")
    parser.add_argument("--capacities", type=numbers, metavar="LIST",
                        help=f"percent of the model's peak (default {','.join(map(str, CAPACITIES))})")
    parser.add_argument("--policies", metavar="LIST", help="default: all that there are")
    parser.add_argument("--rounds", type=int, help=f"default {ROUNDS}")
    parser.add_argument("--steps", type=int, help=f"default {STEPS}; models that repeat nothing take more")
    parser.add_argument("--tool", type=pathlib.Path, help="default bin/hearth beside the library's folder")
    parser.add_argument("--svg", metavar="STEM", help="draw STEM-MACHINE.svg")
    parser.add_argument("--markdown", metavar="OUT", help="write the tables to this file as well")
    parser.add_argument("--resume", action="store_true", help="take the runs that --json has already")
    arguments = parser.parse_args()
    if arguments.resume and not arguments.json:
        parser.error("--resume goes on with the file that --json names")
    arguments.small = arguments.short
    arguments.machine = arguments.machine or list(MACHINES[:1] if arguments.short else MACHINES)
    arguments.capacities = arguments.capacities or list(SHORT_CAPACITIES if arguments.short else CAPACITIES)
    arguments.rounds = arguments.rounds or (SHORT_ROUNDS if arguments.short else ROUNDS)
    arguments.steps = arguments.steps or (SHORT_STEPS if arguments.short else STEPS)
    if arguments.rounds < 1 or arguments.steps < figures.LATEST_ADOPTION + figures.SETTLING + 2:
        parser.error(f"at least one round of {figures.LATEST_ADOPTION + figures.SETTLING + 2} steps")
    return arguments


def chosen_policies(arguments):
    there = policies_there_are(arguments.tool)
    asked = [name for name in (arguments.policies or "").split(",") if name] or there
    unknown = [name for name in asked if name not in there]
    if unknown:
        sys.exit(f"--policies: no {', '.join(unknown)}; there are: {', '.join(there)}")
    return figures.ordered({*asked, figures.ALL_FAST})


def former_runs(arguments):
    """What --json has of the same measurement."""
    if not arguments.resume or not pathlib.Path(arguments.json).is_file():
        return {}
    former = json.loads(pathlib.Path(arguments.json).read_text(encoding="utf-8"))
    if former["settings"] != settings_of(arguments):
        sys.exit(f"{arguments.json} has runs of other settings: {former['settings']}")
    return former


def main():
    arguments = options()
    arguments.python = [arguments.python or runs.default_pythons()[0]]
    versions = runs.check(arguments)
    arguments.python = arguments.python[0]
    arguments.tool = arguments.tool or arguments.library.parent.parent / "bin" / "hearth"
    policies = chosen_policies(arguments)
    former = former_runs(arguments)
    with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
        contents = former.get("machines") or machine_files(arguments.tool, arguments.machine, arguments.python,
                                                           arguments.threads, folder)
        machines = {name: pathlib.Path(folder, f"{name}.json") for name in contents}
        for name, path in machines.items():
            path.write_text(json.dumps(contents[name]), encoding="utf-8")
        programme = Programme(arguments, versions[arguments.python], machines, policies, former)
        try:
            programme.run()
        except KeyboardInterrupt:
            programme.interrupted = True
            programme.save()
        text = programme.markdown()
        print(text)
        if arguments.markdown:
            pathlib.Path(arguments.markdown).write_text(text, encoding="utf-8")
        if arguments.svg:
            programme.draw()
    if programme.interrupted:
        return rivals.INTERRUPTED
    return 1 if programme.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
