"""bench/macro/op_costs.py without PyTorch: its tables, on a made-up tool."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
MACRO = PROJECT / "bench" / "macro"

TOOL = """#!{python}
import json, sys
if sys.argv[1] == "profile-ops":
    checked = dict(op="aten::mm", operands=[[1 << 20, 0], [0, 1 << 19]], ops=3, fast_ns=1e6, single_extras_ns=[2e6, 1e6],
                   all_slow_ns=3e6, error=1/3, form="exact")
    json.dump(dict(ops=30, kinds=10, placements=44, fast_ns=100, slow_ns=300, roofline_slow_ns=500,
                   median_roofline_error=0.02,
                   additivity=dict(kinds=4, exact=1, neither=2, median_error=0.05, checked=[checked])), sys.stdout)
else:
    best = 100
    times = dict(roofline=1.2, additive=1.25, measured=1.3)[sys.argv[sys.argv.index("--op-form") + 1]]
    points = [dict(step_ns={{"sentinel": best * 1.5, "autotm-asynchronous": best * times}},
                   autotm=dict(gap=0.01)) for size in sys.argv[sys.argv.index("--sizes") + 1].split(",")]
    json.dump(dict(all_fast_ns=best, all_slow_ns=900, op_costs=None, points=points), sys.stdout)
"""


class OpCosts(unittest.TestCase):
    def test_tables_tell_what_the_tool_found(self):
        with tempfile.TemporaryDirectory(prefix="hearth-test-") as folder:
            folder = pathlib.Path(folder)
            tool = folder / "hearth"
            tool.write_text(TOOL.format(python=sys.executable))
            tool.chmod(0o755)
            (folder / "optane-100.json").touch()
            done = subprocess.run([sys.executable, str(MACRO / "op_costs.py"), "--tool", str(tool), "--costs", str(folder),
                                   "--json", str(folder / "out.json"), "--model", "gpt2"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads((folder / "out.json").read_text())["models"][0]["told"]["kinds"], 10)
        lines = done.stdout.splitlines()
        self.assertIn("| `gpt2` | 30, 10 | 44 | 4 | 5.0 % | 3 | 1 | 2 | 0.600 (extras 0.50) | 2.0 % |", lines)
        self.assertIn("| `gpt2` | `aten::mm` | 1.00, 0.50 | 3 | 1.00 ms | +3.00 ms | +2.00 ms | 33.3 % | exact |", lines)
        self.assertIn("| `gpt2`" + 3 * " | 1.20 (1.0 %) | 1.25 (1.0 %) | 1.30 (1.0 %)" + " |", lines)


if __name__ == "__main__":
    unittest.main()
