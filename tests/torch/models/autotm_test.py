"""bench/macro/autotm.py without PyTorch: its tables on known figures, and the whole on a made-up tool."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
MACRO = PROJECT / "bench" / "macro"
sys.path.insert(0, str(MACRO))
import autotm  # noqa: E402

# `hearth sweep`: everything fast takes 100, a size's step 100 more than its place in the list times what a policy loses.
TOOL = """#!{python}
import json, sys
mode = sys.argv[sys.argv.index("--mode") + 1]
loss = {{"static": 60, "synchronous": 40, "asynchronous": 10}}[mode]
program = dict(solver="Cbc", columns=7, rows=5, solve_seconds=1.5, gap=0.01, peak_bytes=3 << 20, bound_ns=105.0)
points = [dict(fast_bytes=1000 * (i + 1), autotm=program,
               step_ns={{"first-touch": 190 - i, "sentinel": 121 - i, "autotm-" + mode: 100 + loss - i}})
          for i, size in enumerate(sys.argv[sys.argv.index("--sizes") + 1].split(","))]
json.dump(dict(ops=1234, peak_bytes=9000, all_fast_ns=100, all_slow_ns=300, points=points), sys.stdout)
"""


class Autotm(unittest.TestCase):
    def run_program(self, *models):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as folder:
            folder = pathlib.Path(folder)
            tool = folder / "hearth"
            tool.write_text(TOOL.format(python=sys.executable))
            tool.chmod(0o755)
            for name in (*(f"{model}-short.trace" for model in models), "optane-100.json"): (folder / name).touch()
            done = subprocess.run([sys.executable, str(MACRO / "autotm.py"), "--tool", str(tool), "--traces", str(folder),
                                   "--json", str(folder / "out.json"), "--model", *models], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, json.loads((folder / "out.json").read_text())

    def test_tables_tell_what_the_tool_found(self):
        text, results = self.run_program("vit", "gpt2")
        lines = text.splitlines()
        self.assertEqual([each["model"] for each in results["models"]], ["vit", "gpt2"])
        for ratio in ("8:1", "4:1", "1:1"): self.assertIn(f"Slow to fast memory {ratio}", text)
        self.assertIn("| `vit` | 3.00 | 1.90 | 1.60 | 1.40 | 1.10 | 1.21 |", lines)  # at the first size
        self.assertIn("| `gpt2` | 3.00 | 1.88 | 1.58 | 1.38 | 1.08 | 1.19 |", lines)  # at the last
        gap = (120 / 109 - 1) * 100
        self.assertIn(f"| `vit` | 1234 | {gap:+.1f} % | +14.3 % | 7 | 5 | 1.5 s | 1.0 % | 3 MiB |", lines)
        self.assertEqual(len({len(line.split("|")) for line in lines if line.startswith("|")}), 2)

    def test_the_mean_is_of_ratios(self):
        self.assertAlmostEqual(autotm.geomean([1, 4]), 2)


if __name__ == "__main__":
    unittest.main()
