"""`hearth sweep` from outside. Arguments: the tool, tests/data/small.trace."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOOL, TRACE = sys.argv[1:3]
del sys.argv[1:3]


class Sweep(unittest.TestCase):
    def sweep(self, *arguments):
        return subprocess.run([TOOL, "sweep", *map(str, arguments)], capture_output=True, text=True, timeout=120)

    def figures(self, *arguments):
        result = self.sweep(TRACE, "--min-size", "256", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_more_memory_is_never_slower_and_all_of_it_is_enough(self):
        figures = self.figures("--points", "8")
        self.assertEqual(len(figures["points"]), 8)
        self.assertGreaterEqual(figures["all_slow_ns"], figures["all_fast_ns"])
        for point in figures["points"]:
            for step in point["step_ns"].values():
                self.assertGreaterEqual(step, figures["all_fast_ns"] * 0.999)
                self.assertLessEqual(step, figures["all_slow_ns"] * 1.02)
        sizes = [point["fast_bytes"] for point in figures["points"]]
        self.assertEqual(sizes, sorted(sizes))
        self.assertLessEqual(figures["points"][-1]["step_ns"]["sentinel"], figures["all_fast_ns"] * 1.05)
        self.assertIsNotNone(figures["knee_fast_bytes"])
        self.assertTrue(figures["simulated"])

    def test_the_table_names_what_it_found(self):
        result = self.sweep(TRACE, "--min-size", "256", "--points", "4", "--fast-price", "4", "--slow-price", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ("first-touch", "interleave", "tier-queue", "sentinel", "cost a step", "not measured", "within 5 %"):
            self.assertIn(words, result.stdout)
        self.assertIn("4 of 4 sizes\n", result.stderr)
        self.assertNotIn("\r", result.stderr, "only a terminal shows the ones on the way")

    def test_prices_weigh_memory_by_time(self):
        figures = self.figures("--points", "4", "--fast-price", "4", "--slow-price", "1")
        last = figures["points"][-1]
        self.assertAlmostEqual(last["cost"], last["step_ns"]["sentinel"] / figures["all_fast_ns"], delta=0.02)
        self.assertNotIn("cost", self.figures("--points", "1")["points"][0])

    def test_an_integer_program_beside_them_and_a_picture(self):
        with tempfile.TemporaryDirectory(prefix="hearth-sweep-") as folder:
            plot = pathlib.Path(folder, "sweep.svg")
            result = self.sweep(TRACE, "--min-size", "256", "--points", "3", "--autotm", "--time-limit", "1",
                                "--plot", plot, "--json")
            if "without a solver" in result.stderr: self.skipTest(result.stderr.strip())
            self.assertEqual(result.returncode, 0, result.stderr)
            for point in json.loads(result.stdout)["points"]:
                self.assertLessEqual(point["step_ns"]["autotm-asynchronous"], point["step_ns"]["sentinel"] + 1)
            drawing = xml.etree.ElementTree.parse(plot).getroot()
            lines = drawing.findall("{http://www.w3.org/2000/svg}polyline")
            self.assertEqual(len(lines), 5)
            for line in lines: self.assertEqual(len(line.get("points").split()), 3)
            self.assertEqual(self.sweep(TRACE, "--points", "1", "--plot", f"{folder}/no/x.svg").returncode, 2)

    def refused(self, status, words, *arguments):
        result = self.sweep(*arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertIn(words, result.stderr)

    def test_nonsense_is_refused_in_a_sentence(self):
        self.refused(1, "no-such.trace", "no-such.trace")
        self.refused(1, "no-such-machine", TRACE, "--machine", "no-such-machine")
        self.refused(2, "its directory does not exist", TRACE, "--plot", "/no/such/folder/x.svg")
        self.refused(2, "--slow-price needs --fast-price", TRACE, "--slow-price", "1")
        for option in ("--loss", "--step-ms", "--fast-price", "--slow-price"):
            self.refused(2, f"{option}: expected a number", TRACE, option, "nan")
        self.assertNotEqual(self.sweep(TRACE, "--points", "0").returncode, 0)


if __name__ == "__main__":
    unittest.main()
