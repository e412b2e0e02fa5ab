"""bench/macro/paper_scale.py without PyTorch: its tables on known figures, and the whole on a made-up tool."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
MACRO = PROJECT / "bench" / "macro"
sys.path.insert(0, str(MACRO))
import paper_scale  # noqa: E402

# Everything fast takes an hour. `scale` leaves a file; a sweep's losses depend on mode and size, and it leaves its call.
TOOL = """#!{python}
import json, pathlib, sys
HOUR = 3600 * 10**9
option = lambda name: sys.argv[sys.argv.index(name) + 1]
with open(pathlib.Path(__file__).with_name("calls"), "a") as calls: print(*sys.argv[1:], file=calls)
if sys.argv[1] == "scale":
    pathlib.Path(option("-o")).touch()
    json.dump(dict(peak_bytes=[4 * 10**9, 8 * 10**9, 650 * 10**9], events=2000, events_alone=3), sys.stdout)
else:
    mode, size = option("--mode"), option("--sizes")
    loss = {{"static": 1.6, "synchronous": 1.5, "asynchronous": 1.1}}[mode]
    fast = int(size) if size.isdigit() else int(650 * 10**7 * float(size.rstrip("%")))
    steps = {{"first-touch": 2 * HOUR, "sentinel": 1.2 * HOUR, "autotm-" + mode: loss * HOUR}}
    program = dict(solver="Cbc", columns=7, rows=5, solve_seconds=1.5, gap=0.015, peak_bytes=3 << 20, bound_ns=1.0)
    json.dump(dict(ops=1234, peak_bytes=650 * 10**9, all_fast_ns=HOUR, all_slow_ns=3 * HOUR,
                   points=[dict(fast_bytes=fast, step_ns=steps, autotm=program)]), sys.stdout)
"""


class PaperScale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tool = self.folder / "hearth"
        self.tool.write_text(TOOL.format(python=sys.executable))
        self.tool.chmod(0o755)
        (self.folder / "optane-100.json").write_text('{"machine": {"gemm": 75e9}}')
        for name, network in paper_scale.NETWORKS.items():
            for batch in network.batches: (self.folder / f"{name}-b{batch}.trace").touch()

    def run_program(self, *options):
        out = self.folder / "out.json"
        done = subprocess.run([sys.executable, str(MACRO / "paper_scale.py"), "--tool", str(self.tool), "--folder",
                               str(self.folder), "--json", str(out), *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, json.loads(out.read_text())

    def calls(self):
        return [line.split() for line in (self.folder / "calls").read_text().splitlines()]

    def test_tables_tell_what_the_tool_found(self):
        text, results = self.run_program("--network", "resnet200", "vgg416", "--cpu-clock", "x.so")
        lines = text.splitlines()
        self.assertEqual([each["network"] for each in results["networks"]], ["resnet200", "vgg416"])
        self.assertTrue(results["simulated"] and results["extrapolated"])
        self.assertIn("| ResNet-200 | 16, 32 | 4.00 GB, 8.00 GB | 2560 | 650 GB | 651 GB | 1.00 | 60 min | 0.15 % |", lines)
        self.assertIn("| VGG-416 | 1, 2 | 4.00 GB, 8.00 GB | 320 | 650 GB | 658 GB | 0.99 | 60 min | 0.15 % |", lines)
        self.assertIn("| ResNet-200 | 185 GB | 3.00 | 2.00 | 1.60 | 1.50 | 1.10 | 1.20 |", lines)
        self.assertIn("| ResNet-200 | 130 GB | 3.00 | 2.00 | 1.60 | 1.50 | 1.10 | 1.20 |", lines)
        self.assertIn("| geometric mean |  | 3.00 | 2.00 | 1.60 | 1.50 | 1.10 | 1.20 |", lines)
        self.assertIn("| ResNet-200 | 1234 | 7 | 5 | 1.5 % | 1.5 % | 1.5 % | 3 MiB |", lines)
        self.assertIn("synchronous is 1.33 times as quick as first touch here", text)
        self.assertIn("| first-touch | +71.9 % | +100.0 % | +100.0 % | +100.0 % | +100.0 % |", lines)
        self.assertIn("| synchronous | +27.7 % | +50.0 % | +50.0 % | +50.0 % | +50.0 % |", lines)
        self.assertIn("| static |  | +60.0 % | +60.0 % | +60.0 % | +60.0 % |", lines)
        self.assertIn("by the CPU time that they took", text)
        self.assertIn("(75 GFLOP/s)", text)
        numbered = [line for line in lines if re.match(r"\d+\. ", line)]
        self.assertEqual([line.split(".")[0] for line in numbered], [str(i + 1) for i in range(len(numbered))])
        self.assertGreater(len(numbered), 5)
        self.assertNotIn("{", text)

    def test_traces_are_scaled_to_the_papers_batch_and_limit(self):
        self.run_program("--network", "inception_v4", "--sizes", "185 GB")
        scale, *sweeps = self.calls()
        traces = [f"{batch}={self.folder}/inception_v4-b{batch}.trace" for batch in (16, 32)]
        self.assertEqual(scale[:3], ["scale", *traces])
        self.assertEqual(scale[scale.index("--to") + 1], "6144")
        self.assertEqual([call[call.index("--mode") + 1] for call in sweeps], list(paper_scale.MODES))
        for call in sweeps: self.assertEqual(call[call.index("--sizes") + 1], "185000000000")

    def test_the_conventional_set_has_batches_of_its_own_and_no_limit(self):
        text, results = self.run_program("--set", "conventional")
        self.assertEqual([each["batch"] for each in results["networks"]], [512, 2048, 512, 1024])
        self.assertIn("| VGG-19 | 8, 16 | 4.00 GB, 8.00 GB | 2048 | 650 GB |  |  | 60 min | 0.15 % |", text.splitlines())
        self.assertNotIn("185 GB of fast memory", text)
        self.assertNotIn("Memory Mode", text)
        done = subprocess.run([sys.executable, str(MACRO / "paper_scale.py"), "--network", "vgg19"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("the large set has resnet200, vgg416", done.stderr)

    def test_what_is_there_is_taken(self):
        first, _ = self.run_program("--network", "resnet200", "--sizes", "4:1")
        count = len(self.calls())
        again, _ = self.run_program("--network", "resnet200", "--sizes", "4:1")
        self.assertEqual(first, again)
        self.assertEqual([call[0] for call in self.calls()[count:]], ["scale"])
        self.run_program("--network", "resnet200", "--sizes", "4:1", "1:1")
        self.assertEqual([call[0] for call in self.calls()[count + 1:]], ["scale"] + ["sweep"] * 3)


if __name__ == "__main__":
    unittest.main()
