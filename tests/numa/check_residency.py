"""Tiers on real nodes: trainings with too little fast memory lose no bit, and every page lies where the books have it.

In one boot: each program plain, then under Hearth with everything slow, with a fixed budget, with a fifth of its peak
(what exceeds it when the peak is known has to move), interleaved, with pages that move by their use, and with moves that
are made to fail.
"""
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import guest
from check_training import PAUSE_AFTER, STEPS, pages_of, problems_of_losses

PAGE = 4096
SLOW_NODE = "node1"
FEWEST_FAULTS = 200
CAUSES = ("busy", "no_memory", "forbidden", "absent_node", "other")
TRIES_AT_START = 8  # moves by which Hearth finds out whether there are any
LONG = 40  # steps, of a run with a plan that moves tensors in each: without Python a period must be found first
# As slow as the guest, so that a plan finds time to move what it would on a machine.
MACHINE = {"schema_version": 1, "measured": None, "machine": {
    "name": "crawling", "cores": 1, "gemm": 1e11, "fault_ns": 500, "outstanding": 10, "interference": 0.02, "scale": 1,
    "fast": {"read": 1.5e8, "write": 1e8, "latency_ns": 100, "bytes": 0},
    "slow": {"read": 3e6, "write": 1.5e6, "latency_ns": 1000, "bytes": 0},
    "move_to_fast": 5e7, "move_to_slow": 5e7}}


@dataclass
class Case:
    name: str
    settings: dict
    budget: bool = True      # fast memory is limited
    moves: bool = False      # pages must have moved between the nodes
    both_ways: bool = False  # to fast and back, in the same steps
    slow_only: bool = False  # every page of the tensors looked at is slow
    failing: bool = False    # moves fail at random (tests/support/failing_moves.cpp)
    steps: int = STEPS


CASES = (
    Case("all slow", {"HEARTH_POLICY": "all-slow"}, budget=False, slow_only=True),
    Case("two megabytes", {"HEARTH_FAST_CAPACITY": "2M"}),
    Case("a fifth", {"HEARTH_FAST_CAPACITY": "20%"}, moves=True),
    Case("interleaved", {"HEARTH_POLICY": "interleave", "HEARTH_FAST_CAPACITY": "4M"}),
    Case("lru", {"HEARTH_POLICY": "lru", "HEARTH_FAST_CAPACITY": "1M"}, moves=True, both_ways=True),
    Case("lru, failing moves", {"HEARTH_POLICY": "lru", "HEARTH_FAST_CAPACITY": "1M"}, both_ways=True, failing=True),
    Case("failing moves", {"HEARTH_FAST_CAPACITY": "20%", "HEARTH_MACHINE": "machine.json"}, both_ways=True, failing=True,
         steps=LONG),
)


def problems_of_tiers(name, case, tiers):
    if not tiers["present"] or tiers["backend"] != "numa":
        yield f"{name}: no tiers of nodes: {tiers}"
        return
    if tiers["pages_checked"] == 0 or tiers["pages_as_booked"] < 0.99 * tiers["pages_checked"]:
        yield f"{name}: {tiers['pages_as_booked']} of {tiers['pages_checked']} pages lie where the books have them"
    if case.budget and not 0 < tiers["fast_peak_bytes"] <= tiers["fast_capacity_bytes"]:
        yield f"{name}: {tiers['fast_peak_bytes']} bytes were fast, {tiers['fast_capacity_bytes']} allowed"
    if case.budget and tiers["slow_bytes"] == 0:
        yield f"{name}: nothing is slow, so the budget was no limit"
    if case.moves and tiers["to_slow"]["bytes"] == 0:
        yield f"{name}: nothing moved"
    if case.both_ways and 0 in (tiers["to_fast"]["bytes"], tiers["to_slow"]["bytes"]):
        yield f"{name}: pages went one way or none: {tiers['to_fast']}, {tiers['to_slow']}"


def problems_of_faults(name, case, tiers, told):
    """What was made to fail and what the report has of it. A page that stays is tried a few times, a refused call once."""
    if not case.failing:
        return
    if not told.exists():
        yield f"{name}: nothing was preloaded that makes moves fail"
        return
    calls, pages = map(int, told.read_text().split()[1::2])
    stayed = tiers["not_moved"]
    counted = {cause: stayed[cause] for cause in CAUSES}
    if calls + pages < FEWEST_FAULTS or sum(counted.values()) < FEWEST_FAULTS or 0 in counted.values():
        yield f"{name}: {calls} calls and {pages} pages were made to fail, counted are {stayed}"
    print(f"{name}: {calls} calls and {pages} pages made to fail, {stayed}, {tiers['retries']} retries")


def problems_of_vmstat(name, tiers, migrated):
    """Our counters against the kernel's. Both count pages; the probe at the start moves one that is in no book."""
    ours = (tiers["to_fast"]["bytes"] + tiers["to_slow"]["bytes"]) // PAGE
    kernels = migrated["pgmigrate_success"]
    if abs(ours - kernels) > 8 + 0.02 * kernels:
        yield f"{name}: {ours} pages moved by our count, {kernels} by the kernel's"


def problems_of_look(name, case, looks):
    pages = pages_of("".join(looks))
    if pages is None or pages["absent"] or pages["failed"]:
        yield f"{name}: the look from outside failed: {looks}"
    elif case.slow_only and pages.get(SLOW_NODE, 0) < 0.99 * pages["pages"]:
        yield f"{name}: not all on {SLOW_NODE}: {pages}"


def main():
    options = guest.arguments(__doc__, ("--library", {"required": True}), ("--where", {"required": True}),
                              ("--failing-moves", {"required": True, "help": "the library that makes them fail"}),
                              ("program", {"nargs": "+", "help": "a command that takes STEPS and PAUSE_AFTER"}))
    with tempfile.TemporaryDirectory(prefix="hearth-numa.") as folder:
        Path(folder, "machine.json").write_text(json.dumps(MACHINE))
        jobs, checks = [], []
        for words in options.program:
            label = Path(words.split()[-1]).name
            plain = guest.Job(f"{label} plain", [*words.split(), str(LONG), str(PAUSE_AFTER)],
                              where=[options.where, "ranges"])
            jobs.append(plain)
            for case in CASES:
                report = Path(folder, f"report{len(jobs)}.json")
                preload = [options.library] + [options.failing_moves] * case.failing
                settings = dict(case.settings)
                if "HEARTH_MACHINE" in settings: settings["HEARTH_MACHINE"] = f"{folder}/{settings['HEARTH_MACHINE']}"
                command = [*words.split(), str(case.steps), str(PAUSE_AFTER)]
                job = guest.Job(f"{label}, {case.name}", command, where=[options.where, "ranges"],
                                environment={"LD_PRELOAD": ":".join(preload), "HEARTH_TIERS": "numa",
                                             "HEARTH_TRIALS": "0",  # of times; the guest's are QEMU's
                                             "HEARTH_REPORT": str(report), **settings,
                                             "FAILING_MOVES_AFTER": str(TRIES_AT_START),
                                             "FAILING_MOVES_TOLD": str(report.with_suffix(".told"))})
                jobs.append(job)
                checks.append((plain, job, case, report))
        results = guest.run(jobs, options.kernel, options.nodes, folder=folder, timeout=800)
        problems = list(guest.problems_of(jobs, results))
        for plain, job, case, report in checks if not problems else []:
            result = results[job.name]
            problems += problems_of_losses(job.name, results[plain.name], result, case.steps)
            tiers = json.loads(report.read_text())["tiers"] if report.exists() else {"present": False}
            found = list(problems_of_tiers(job.name, case, tiers))
            problems += found
            if not found:
                problems += problems_of_faults(job.name, case, tiers, report.with_suffix(".told"))
                problems += problems_of_vmstat(job.name, tiers, result["migrated"])
                problems += problems_of_look(job.name, case, result["looks"])
                print(f"{job.name}: {tiers['fast_bytes']} fast, {tiers['slow_bytes']} slow, {tiers['pages_as_booked']} of "
                      f"{tiers['pages_checked']} pages as booked, {result['migrated']}")
    guest.end(problems, f"{len(checks)} trainings on two tiers, losses equal")


if __name__ == "__main__":
    main()
