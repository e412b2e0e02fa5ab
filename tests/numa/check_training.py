"""Trainings in the guest, plain and under Hearth: the losses are equal to the last bit, and pages lie where they may.

Each program pauses once; from outside, `where` then asks the kernel for the node of every page of some tensors.
"""
import json
import re
import tempfile
from pathlib import Path

import guest

STEPS, PAUSE_AFTER = 12, 10
HERE = Path(__file__).resolve().parent


def losses(result):
    return [line for line in result["stdout"].splitlines() if line.startswith("loss ")]


def pages_of(look):
    """The line 'total' of `where`: {'pages': N, 'node0': N, ..., 'absent': N, 'failed': N}; None if it failed."""
    match = re.search(r"^total (.*)$", look, re.MULTILINE)
    return {key: int(value) for key, value in (pair.split("=") for pair in match[1].split())} if match else None


def problems_of_losses(name, plain, hearth, steps=STEPS):
    """The first `steps` of the plain run's, which may go on for longer."""
    before, after = losses(plain)[:steps], losses(hearth)
    if len(before) != steps:
        yield f"{name} printed {len(before)} losses without Hearth, not {steps}"
    elif float.fromhex(before[-1].split()[1]) >= float.fromhex(before[0].split()[1]):
        yield f"{name} does not learn, so that equal losses say little: {before}"
    if before != after:
        yield f"{name}: other losses under Hearth:\n{after}\ninstead of\n{before}"


def problems_of_places(name, result, on_slow):
    """The tensors asked for are in use, so every page of them has memory: on some node, or on the slow one."""
    looks = [pages_of(look) for look in result["looks"]]
    if len(looks) != 1 or looks[0] is None:
        yield f"{name}: the look from outside failed: {result['looks']}"
    elif looks[0]["absent"] or looks[0]["failed"] or not looks[0]["pages"]:
        yield f"{name}: pages of live tensors without memory: {looks[0]}"
    elif on_slow and looks[0].get("node1", 0) < 0.99 * looks[0]["pages"]:
        yield f"{name}: told to keep everything slow, and not all is on node 1: {looks[0]}"


def problems_of_report(name, path):
    """That Hearth was there and at work: a run that it only forwarded would have equal losses, too."""
    if not path.exists():
        yield f"{name}: no report, so it did not run under Hearth"
        return
    closed = json.loads(path.read_text())["iterations"]["closed"]
    # By the optimizer's steps all of them; without Python these are not announced, and a period must repeat to be known.
    if not 2 <= closed <= STEPS + 1:
        yield f"{name}: the report has {closed} iterations for {STEPS} steps"


def in_python(name):
    """C++ trainings on two tiers have a test of their own (check_residency.py); Python's import takes too long for one."""
    return name.startswith("train.py")


def jobs_of(options, folder):
    """For each program a plain run and one under Hearth, in this order."""
    for number, words in enumerate(options.program):
        command = [*words.split(), str(STEPS), str(PAUSE_AFTER)]
        look = [options.where, "ranges"]
        name = "train.py" if "train.py" in words else Path(command[0]).name
        yield guest.Job(f"{name} plain", command, where=look)
        tiers = {"HEARTH_TIERS": "numa", "HEARTH_POLICY": "all-slow"} if in_python(name) else {}
        yield guest.Job(f"{name} under Hearth", command, where=look, environment={
            "LD_PRELOAD": options.library, "HEARTH_REPORT": f"{folder}/report{number}.json", **tiers})


def main():
    options = guest.arguments(__doc__, ("--library", {"required": True}), ("--where", {"required": True}),
                              ("program", {"nargs": "+", "help": "a command that takes STEPS and PAUSE_AFTER"}))
    with tempfile.TemporaryDirectory(prefix="hearth-numa.") as folder:
        jobs = list(jobs_of(options, folder))
        results = guest.run(jobs, options.kernel, options.nodes, folder=folder, timeout=500)
        problems = list(guest.problems_of(jobs, results))
        if not problems:
            for number, (plain, hearth) in enumerate(zip(jobs[::2], jobs[1::2])):
                problems += problems_of_losses(plain.name, results[plain.name], results[hearth.name])
                problems += problems_of_report(hearth.name, Path(folder, f"report{number}.json"))
                for job in (plain, hearth):
                    on_slow = job is hearth and in_python(job.name)
                    problems += problems_of_places(job.name, results[job.name], on_slow)
                    print(f"{job.name}: {pages_of(''.join(results[job.name]['looks']))}")
    guest.end(problems, f"{len(jobs)} runs, losses equal")


if __name__ == "__main__":
    main()
