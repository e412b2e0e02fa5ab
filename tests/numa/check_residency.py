"""Tiers on real nodes: trainings with too little fast memory lose no bit, and every page lies where the books have it.

In one boot: each program plain, then under Hearth with everything slow, with a fixed budget, with a fifth of its peak
(what exceeds it when the peak is known has to move), and interleaved.
"""
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import guest
from check_training import PAUSE_AFTER, STEPS, pages_of, problems_of_losses

PAGE = 4096
SLOW_NODE = "node1"


@dataclass
class Case:
    name: str
    settings: dict
    budget: bool = True      # fast memory is limited
    moves: bool = False      # pages must have moved between the nodes
    slow_only: bool = False  # every page of the tensors looked at is slow


CASES = (
    Case("all slow", {"HEARTH_POLICY": "all-slow"}, budget=False, slow_only=True),
    Case("two megabytes", {"HEARTH_FAST_CAPACITY": "2M"}),
    Case("a fifth", {"HEARTH_FAST_CAPACITY": "20%"}, moves=True),
    Case("interleaved", {"HEARTH_POLICY": "interleave", "HEARTH_FAST_CAPACITY": "4M"}),
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
                              ("program", {"nargs": "+", "help": "a command that takes STEPS and PAUSE_AFTER"}))
    with tempfile.TemporaryDirectory(prefix="hearth-numa.") as folder:
        jobs, checks = [], []
        for words in options.program:
            command = [*words.split(), str(STEPS), str(PAUSE_AFTER)]
            label = Path(words.split()[-1]).name
            plain = guest.Job(f"{label} plain", command, where=[options.where, "ranges"])
            jobs.append(plain)
            for case in CASES:
                report = Path(folder, f"report{len(jobs)}.json")
                job = guest.Job(f"{label}, {case.name}", command, where=[options.where, "ranges"],
                                environment={"LD_PRELOAD": options.library, "HEARTH_TIERS": "numa",
                                             "HEARTH_REPORT": str(report), **case.settings})
                jobs.append(job)
                checks.append((plain, job, case, report))
        results = guest.run(jobs, options.kernel, options.nodes, folder=folder, timeout=500)
        problems = list(guest.problems_of(jobs, results))
        for plain, job, case, report in checks if not problems else []:
            result = results[job.name]
            problems += problems_of_losses(job.name, results[plain.name], result)
            tiers = json.loads(report.read_text())["tiers"] if report.exists() else {"present": False}
            found = list(problems_of_tiers(job.name, case, tiers))
            problems += found
            if not found:
                problems += problems_of_vmstat(job.name, tiers, result["migrated"])
                problems += problems_of_look(job.name, case, result["looks"])
                print(f"{job.name}: {tiers['fast_bytes']} fast, {tiers['slow_bytes']} slow, {tiers['pages_as_booked']} of "
                      f"{tiers['pages_checked']} pages as booked, {result['migrated']}")
    guest.end(problems, f"{len(checks)} trainings on two tiers, losses equal")


if __name__ == "__main__":
    main()
