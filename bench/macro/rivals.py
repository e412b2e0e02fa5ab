#!/usr/bin/env python3
"""How does Hearth compare with the allocators that its users could preload instead?

Runs every workload under Hearth, glibc's malloc, jemalloc, tcmalloc and mimalloc, as they come and tuned, and prints
Markdown: time and page faults of a step, memory, ratios to the best rival, and what is left of a gain where page
faults cost what they do on machines that are not virtual. Every round runs every allocator once, in an order that
rotates, so that drift of the machine hits all alike. Losses and trained parameters must be the same under all.

Ctrl-C prints what is complete. docs/benchmarks.md explains the columns."""
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import allocators
import fault_cost
import identity
import overhead
import rivals_figures
import rivals_tables
import runs

SCHEMA_VERSION = 1
INTERRUPTED = 130  # what a shell reports of a program that ended by Ctrl-C
ABSENT_STATES = ("disabled", "forwarding", "bootstrap", "without a report")
REFERENCES = ("glibc", allocators.TUNED_GLIBC)


def reads_thp_setting(python):
    done = subprocess.run([python, "-c", allocators.TORCH_PROBE], env=allocators.clean(os.environ), timeout=300,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() == "True"


def processor():
    """Its name, and whether the kernel sees a hypervisor under it: faults are dear there."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    kind = "virtual" if " hypervisor" in text else "not virtual"
    return f"{names[0] if names else platform.machine()} ({kind})"


def machine_facts(arguments):
    thp = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    chosen = thp.read_text(encoding="ascii").split("[")[-1].split("]")[0] if thp.is_file() else "absent"
    return {"processor": processor(), "CPUs": os.cpu_count(), "Linux": platform.release(),
            "glibc": platform.libc_ver()[1], "load at start": f"{os.getloadavg()[0]:.1f}",
            "transparent huge pages": chosen, "threads": arguments.threads, "rounds": arguments.rounds,
            "sizes": "small" if arguments.small else "full"}


def launch(model, name, python, arguments):
    """One run of a workload under one allocator, as runs.Run; its record and report are complete or `error` is set."""
    steps = arguments.steps or overhead.tiny_steps(model, arguments.small)
    options = runs.step_options(model, steps, arguments.threads, arguments.small)
    result = runs.Run(model, name, python)
    with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
        record, report = pathlib.Path(folder, "record.json"), pathlib.Path(folder, "report.json")
        command = [python, str(runs.MODELS_FOLDER / f"{model}.py"), "--json", str(record), *map(str, options)]
        env = allocators.environment(allocators.ALLOCATORS[name], arguments.library, report, arguments.set)
        try:
            done = subprocess.run(command, env=env, timeout=arguments.timeout, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", check=False)
        except subprocess.TimeoutExpired:
            result.error = f"no end after {arguments.timeout} s"
            return result
        result.stderr = done.stderr
        result.error = allocators.refusal(done.stderr)
        if done.returncode:
            result.error = f"exit status {done.returncode}: {runs.last_line(done.stderr)}"
        elif not record.is_file():
            result.error = "the workload wrote no record"
        else:
            result.record = json.loads(record.read_text(encoding="utf-8"))
        if report.is_file():
            result.report = json.loads(report.read_text(encoding="utf-8"))
    return result


class Comparison:
    """One model with one PyTorch: its rounds, and what went wrong in them."""

    def __init__(self, model, python, version, absent):
        self.model, self.python, self.version, self.absent = model, python, version, absent
        self.complete, self.current = [], {}
        self.errors, self.differences = [], {}
        self._reference = None

    def add(self, number, run):
        """Takes a run's figures, unless it failed or computed something else than the others did."""
        if run.error:
            self.errors.append(f"{run.mode}, round {number}: {run.error}")
            return
        # Figures of a Hearth that stood aside would be those of glibc under another name.
        state = run.report.get("state", "without a report")
        if run.mode == allocators.HEARTH and state in ABSENT_STATES:
            self.errors.append(f"{run.mode}, round {number}: Hearth was {state} at the end")
            return
        if self._reference is None:
            self._reference = run
        faults = identity.identity_faults(self._reference, run)
        if faults:
            self.differences[run.mode] = f"not what {self._reference.mode} computed: {'; '.join(faults)}"
            return
        self.current[run.mode] = rivals_figures.run_figures(run.record, run.report)

    def close_round(self):
        self.complete.append(self.current)
        self.current = {}

    def result(self, fault_ns):
        rounds = [{name: each for name, each in figures.items() if name not in self.differences}
                  for figures in self.complete]
        return {"model": self.model, "torch": self.version, "python": self.python, "absent": self.absent,
                "rounds": self.complete, "incomplete_round": self.current, "errors": self.errors,
                "differences": self.differences,
                "summary": rivals_figures.summarise(rounds, list(allocators.ALLOCATORS), fault_ns)}


class Programme:
    """All runs in their order, and the results so far."""

    def __init__(self, arguments, versions):
        self._arguments = arguments
        self._machine = machine_facts(arguments)
        self._cost = fault_cost.FaultCost()
        self._durations = {}
        self._comparisons = []
        self.interrupted = False
        for python, version in versions.items():
            torch_asks = "torch-thp" in arguments.allocators and reads_thp_setting(python)
            absent = {name: why for name in arguments.allocators
                      if (why := allocators.absence(allocators.ALLOCATORS[name], torch_asks))}
            self._comparisons += [Comparison(model, python, version, absent) for model in arguments.model]
        self._remaining = [(each.python, each.model, name) for each in self._comparisons
                           for _ in range(arguments.rounds) for name in self._present(each)]
        self._total = len(self._remaining)

    def _present(self, comparison):
        """The reference first: a difference is then the other's, whose row will show it."""
        present = [name for name in self._arguments.allocators if name not in comparison.absent]
        return sorted(present, key=lambda name: name not in REFERENCES)

    def run(self):
        for comparison in self._comparisons:
            for number in range(self._arguments.rounds):
                self._cost.sample()
                for name in overhead.rotated(self._present(comparison), number):
                    self._run_one(comparison, number + 1, name)
                comparison.close_round()
                self.save()

    def _run_one(self, comparison, number, name):
        begin = time.monotonic()
        comparison.add(number, launch(comparison.model, name, comparison.python, self._arguments))
        seconds = time.monotonic() - begin
        key = (comparison.python, comparison.model, name)
        self._durations.setdefault(key, []).append(seconds)
        self._remaining.remove(key)
        left = rivals_figures.seconds_left(self._remaining, self._durations)
        done = self._total - len(self._remaining)
        runs.progress(f"[{done}/{self._total}] {comparison.model} on PyTorch {comparison.version}, round {number} of "
                      f"{self._arguments.rounds}, {name}: {seconds:.1f} s; about {duration(left)} left")
        self.save()

    def _results(self):
        # A model that was not begun has nothing to tell, but is begun before its first run is complete.
        cost = self._cost.figures()
        fault_ns = cost["small_page_ns"]["median"] if cost["small_page_ns"] else 0
        begun = [each for each in self._comparisons if each.complete or each.current or each.errors]
        return cost, [each.result(fault_ns) for each in begun]

    def save(self):
        """Replaces the JSON file as a whole: a reader, or a crash, never sees half of one."""
        if not self._arguments.json:
            return
        cost, results = self._results()
        names = self._arguments.allocators
        value = {"schema_version": SCHEMA_VERSION, "machine": self._machine, "fault_cost": cost,
                 "runs_left": len(self._remaining), "interrupted": self.interrupted,
                 "settings": {name: allocators.ALLOCATORS[name].settings for name in names}, "results": results}
        part = pathlib.Path(f"{self._arguments.json}.part")
        runs.save(part, value)
        os.replace(part, self._arguments.json)

    def markdown(self):
        cost, results = self._results()
        return rivals_tables.document(self._machine, cost, results, self._arguments.allocators, self.interrupted)

    def failed(self):
        return any(each.errors or each.differences for each in self._comparisons)


def duration(seconds):
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def options():
    parser = runs.parser(__doc__)
    several = parser.add_argument_group("several values at a time", conflict_handler="resolve")
    several.add_argument("--model", nargs="+", action="extend", metavar="NAME", help="workloads (default: all)")
    several.add_argument("--python", nargs="+", action="extend", metavar="PATH",
                         help="interpreters with PyTorch (default: those that scripts/setup found)")
    parser.add_argument("--rounds", type=int, default=5, help="default 5")
    parser.add_argument("--steps", type=int, help="default 12, dlrm 30, tiny_mlp 600; the last third is measured")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--allocators", default=",".join(allocators.ALLOCATORS), metavar="LIST",
                        help="comma-separated; default: %(default)s")
    parser.add_argument("--markdown", metavar="OUT", help="write the tables to this file as well")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or (arguments.steps is not None and arguments.steps < 3):
        parser.error("at least one round of three steps")
    try:
        arguments.allocators = allocators.parse_names(arguments.allocators)
    except ValueError as error:
        parser.error(f"--allocators: {error}")
    return arguments


def main():
    arguments = options()
    versions = runs.check(arguments, overhead.MODELS)
    programme = Programme(arguments, versions)
    try:
        programme.run()
    except KeyboardInterrupt:
        programme.interrupted = True
        programme.save()
    text = programme.markdown()
    print(text)
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(text, encoding="utf-8")
    if programme.interrupted:
        return INTERRUPTED
    return 1 if programme.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
