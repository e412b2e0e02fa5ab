"""Runs one loop plain and under Hearth: the printed losses are equal bit for bit, and the report tells its iterations.

    check_loop.py PYTHON libhearth.so loop.py
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
FEWEST, MOST = 0, 1


class Expected(NamedTuple):
    found_by: str
    closed: tuple  # fewest and most iterations
    usual: tuple  # fewest and most iterations that are alike
    signatures: tuple = (1, 8)


def exactly(count):
    return (count, count)


# The first iteration of every loop holds the program's start and lazily made state, so it is one of its own. The
# profiled iteration has the usual signature, too.
EXPECTED = {
    "plain": Expected("optimizer", exactly(30), exactly(29), exactly(2)),
    "accumulation": Expected("optimizer", exactly(20), exactly(19), exactly(2)),
    "gan": Expected("optimizer", exactly(25), exactly(23), exactly(3)),
    "evaluation": Expected("optimizer", exactly(60), exactly(57), exactly(3)),
    "last_batch": Expected("optimizer", exactly(50), exactly(40), exactly(4)),
    "mixed_precision": Expected("optimizer", exactly(35), exactly(32), (3, 4)),  # five steps are skipped
    "checkpointed": Expected("optimizer", exactly(20), exactly(19), exactly(2)),
    "lbfgs": Expected("optimizer", exactly(20), (1, 4), (17, 20)),
    "recurrent": Expected("optimizer", exactly(40), exactly(7), exactly(7)),
    # A period is known after it has repeated, and the end of an epoch may cost a boundary.
    "inference": Expected("period", (88, 97), (75, 93), (3, 8)),
    "manual_sgd": Expected("period", (285, 299), (280, 295), (2, 4)),
    "marks": Expected("marks", exactly(30), exactly(26), exactly(3)),
}


def run(command, **variables):
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                   "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **variables}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def within(count, bounds):
    return bounds[FEWEST] <= count <= bounds[MOST]


def under_hearth(command, library, **variables):
    """The run and what its report says of iterations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        done = run(command, LD_PRELOAD=library, HEARTH_REPORT=str(path), HEARTH_SIGNATURES="64", **variables)
        return done, json.loads(path.read_text())["iterations"]


def problems_of(plain, hearth, iterations, expected, whole):
    if hearth.stdout != plain.stdout:
        yield f"printed other losses:\n{hearth.stdout}\ninstead of\n{plain.stdout}"
    if hearth.stderr != plain.stderr:
        yield f"printed on standard error: {hearth.stderr}"
    if iterations["ends_found_by"] != expected.found_by:
        yield f"ends found by {iterations['ends_found_by']}, not {expected.found_by}"
    counts = [("iterations closed", iterations["closed"], expected.closed)]
    if whole:
        counts += [("alike", usual(iterations), expected.usual),
                   ("signatures", iterations["signatures_cached"], expected.signatures)]
    for what, count, bounds in counts:
        if not within(count, bounds):
            yield f"{count} {what}, expected {bounds[FEWEST]} to {bounds[MOST]}"


def usual(iterations):
    return max((signature["times_seen"] for signature in iterations["signatures"]), default=0)


def main(python, library, script):
    """Observed only, the detector sees every event; following a plan it must find the same ends with few of them."""
    expected = EXPECTED[Path(script).stem]
    command = [python, Path(script).name]
    with ThreadPoolExecutor(2) as pool:
        plain = pool.submit(run, command)
        managed = pool.submit(under_hearth, command, library)
        observed, iterations = under_hearth(command, library, HEARTH_PLAN="off")
        plain = plain.result()
        problems = [*problems_of(plain, observed, iterations, expected, whole=True)]
        problems += [f"managed: {problem}" for problem in problems_of(plain, *managed.result(), expected, whole=False)]
    if problems:
        sys.exit("\n".join([*problems, json.dumps(iterations, indent=1)]))
    print(f"{iterations['closed']} iterations by {iterations['ends_found_by']}, {usual(iterations)} alike, losses equal")


if __name__ == "__main__":
    main(*sys.argv[1:])
