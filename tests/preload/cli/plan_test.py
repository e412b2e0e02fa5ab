"""`hearth plan` from outside. Arguments: the tool, tests/data/small.trace."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL, TRACE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]

# So slow that it matters where tensors of a few hundred bytes lie.
CRAWLING = {"schema_version": 1, "measured": None, "machine": {
    "name": "crawling", "cores": 1, "gemm": 1e11, "fault_ns": 500, "outstanding": 10, "interference": 0, "scale": 1,
    "fast": {"read": 1e6, "write": 5e5, "latency_ns": 100, "bytes": 0},
    "slow": {"read": 2e5, "write": 1e5, "latency_ns": 1000, "bytes": 0},
    "move_to_fast": 1e6, "move_to_slow": 1e6}}


class Plan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-plan-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def plan(self, *arguments):
        return subprocess.run([TOOL, "plan", *map(str, arguments)], capture_output=True, text=True, timeout=60)

    def refused(self, status, text, *arguments):
        result = self.plan(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertTrue(result.stderr.startswith("hearth: "), result.stderr)
        self.assertIn(text, result.stderr)

    def test_the_table_and_the_file_agree(self):
        file = self.path / "plan.json"
        result = self.plan(TRACE, "--min-size", "256", "-o", file)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for words in ("allocations ", "lower bound ", "separation ", "grouping ", "planned in ", "mixed"):
            self.assertIn(words, result.stdout)
        self.assertIn("hearth run --plan %s" % file, result.stdout)
        plan = json.loads(file.read_text())
        self.assertEqual(plan["schema_version"], 1)
        self.assertEqual(plan["min_bytes"], 256)
        self.assertEqual(len(plan["entries"]), plan["signature"]["allocations"])
        figures = json.loads(self.plan(TRACE, "--min-size", "256", "--json").stdout)
        self.assertEqual(figures["bytes"], sum(arena["bytes"] for arena in plan["arenas"]))
        self.assertEqual(figures["lower_bound"], plan["costs"]["lower_bound"])
        self.assertGreater(figures["planned"], 0)
        self.assertGreaterEqual(figures["bytes"], figures["lower_bound"])

    def test_one_trace_gives_one_plan(self):
        for file in ("a.json", "b.json"):
            self.plan(TRACE, "--min-size", "256", "-o", self.path / file)
        self.assertEqual((self.path / "a.json").read_bytes(), (self.path / "b.json").read_bytes())

    def test_separated_classes_have_arenas_of_their_own(self):
        figures = json.loads(self.plan(TRACE, "--min-size", "256", "--separate", "--json").stdout)
        self.assertNotIn("mixed", [arena["lifetime"] for arena in figures["arenas"]])

    def test_nothing_to_plan_is_said(self):
        result = self.plan(TRACE, "--min-size", "1M")
        self.assertEqual(result.returncode, 0)
        self.assertIn("Nothing is planned", result.stdout)

    def test_mistakes_are_told(self):
        self.refused(1, "none.trace: No such file", self.path / "none.trace")
        for option in ("-o", "--lp"):
            self.refused(2, "none/plan.json: its directory does not exist", TRACE, option, self.path / "none" / "plan.json")
            self.refused(2, "it is a directory", TRACE, option, self.path)
            self.refused(2, "is not a directory", TRACE, option, f"{TRACE}/plan.json")
        # Known before the trace is read.
        self.refused(2, "cannot write", self.path / "none.trace", "-o", self.path / "none" / "plan.json")
        damaged = self.path / "damaged.trace"
        damaged.write_bytes(pathlib.Path(TRACE).read_bytes()[:-20])
        self.refused(1, "damaged.trace: ", damaged)
        for size in ("many", "-1"):
            self.refused(2, "--min-size", TRACE, "--min-size", size)
        for option in ("--time-limit", "--gap", "--step-ms"):
            self.refused(2, f"{option}: expected a number", TRACE, "--fast", "20%", option, "nan")
        self.refused(2, "TRACE", "--json")
        self.refused(2, "--policy needs --fast", TRACE, "--policy", "autotm")
        self.refused(2, "--mode", TRACE, "--fast", "20%", "--policy", "autotm", "--mode", "sometimes")

    def test_an_integer_program_makes_a_plan_of_tiers(self):
        program, file, machine = (self.path / name for name in ("program.lp", "plan.json", "machine.json"))
        machine.write_text(json.dumps(CRAWLING))
        options = (TRACE, "--min-size", "256", "--fast", "30%", "--machine", machine, "--policy", "autotm", "--gap", "0.001",
                   "--lp", program, "-o", file, "--json")
        result = self.plan(*options)
        if "without a solver" in result.stderr:
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn("libcbc-dev", result.stderr)
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = json.loads(result.stdout)
        found, tiers = figures["autotm"], figures["tiers"]
        self.assertEqual((found["status"], tiers["policy"]), ("optimal", "autotm-asynchronous"))
        self.assertGreater(found["columns"], 0)
        self.assertLessEqual(found["bound_ns"], found["objective_ns"])
        self.assertLessEqual(tiers["simulated_step_ns"], found["sentinel_step_ns"] + 1)
        self.assertGreaterEqual(tiers["simulated_step_ns"], tiers["all_fast_ns"] * 0.999)
        self.assertLessEqual(tiers["fast_peak_bytes"], tiers["fast_capacity_bytes"])
        for word in ("Minimize", "Subject To", "Bounds", "Generals", "End"):
            self.assertIn(word, program.read_text().splitlines())
        self.assertEqual(json.loads(file.read_text())["residency"]["policy"], "autotm-asynchronous")


if __name__ == "__main__":
    unittest.main()
