"""Real training loops of every shape, plain and under Hearth: the printed losses are equal bit for bit, and the report
tells its iterations."""
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from runs import run_python, run_with_report

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
    "profiled": Expected("optimizer", exactly(30), exactly(29), exactly(2)),
    "marks": Expected("marks", exactly(30), exactly(26), exactly(3)),
}


def program(loop):
    """What the loops import is beside them, and hearth in python/."""
    folders = [str(HERE), str(HERE.parents[2] / "python")]
    return f"import sys; sys.path[:0] = {folders}\n" + (HERE / f"{loop}.py").read_text()


class Loops(unittest.TestCase):
    """Observed only, the detector sees every event; following a plan it must find the same ends with few of them."""

    def check(self, loop):
        script, knobs = program(loop), {"HEARTH_SIGNATURES": 64, "HEARTH_TRIALS": 1}
        with ThreadPoolExecutor(2) as lanes:
            plain = lanes.submit(run_python, script)
            managed = lanes.submit(run_with_report, script, **knobs)
            observed = lanes.submit(run_with_report, script, HEARTH_PLAN="off", **knobs)
        self.assertEqual(plain.result().returncode, 0, plain.result().stderr)
        iterations = self.check_run(loop, plain.result(), *observed.result())
        self.check_run(loop, plain.result(), *managed.result())
        expected = EXPECTED[loop]
        self.check_within(usual(iterations), expected.usual, iterations)
        self.check_within(iterations["signatures_cached"], expected.signatures, iterations)

    def check_run(self, loop, plain, done, report):
        """Returns what the report has of iterations."""
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, plain.stderr))
        iterations = report["iterations"]
        self.assertEqual(iterations["ends_found_by"], EXPECTED[loop].found_by, iterations)
        self.check_within(iterations["closed"], EXPECTED[loop].closed, iterations)
        return iterations

    def check_within(self, count, bounds, iterations):
        self.assertLessEqual(bounds[FEWEST], count, iterations)
        self.assertLessEqual(count, bounds[MOST], iterations)


def usual(iterations):
    return max((signature["times_seen"] for signature in iterations["signatures"]), default=0)


for loop in EXPECTED:
    setattr(Loops, f"test_{loop}", lambda self, loop=loop: self.check(loop))


if __name__ == "__main__":
    unittest.main(verbosity=2)
