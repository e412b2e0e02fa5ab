"""HEARTH_AUTOTM: a plan is solved for beside the training, tried, and kept if it is quicker; nothing of it stays behind."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import LIBRARY, PYTHON, clean_environment, run_python
from tiers_test import MACHINE

TOOL = os.environ.get("HEARTH_TEST_TOOL", "")
# Trains until the plan that was solved for has been measured, or for so many steps as it is told, and looks for children
# and their signals as it goes.
TRAINING = '''
import ctypes, json, os, signal, sys, torch
import torch.nn.functional as F
told = []
signal.signal(signal.SIGCHLD, lambda *_: told.append(1))
torch.manual_seed(0)
torch.set_num_threads(1)
layers = [layer for _ in range(int(os.environ.get("LAYERS", "1"))) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), *layers, torch.nn.Linear(512, 10))
optimizer = torch.optim.Adam(net.parameters())
steps, report = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ["STEPS"]), os.environ.get("LIVE", "")
def over():
    assert ctypes.CDLL(None).hearth_write_report(report.encode()) == 0
    trials = json.load(open(report))["trials"]
    os.unlink(report)
    return trials["autotm"] in ("failed", "no better") or any(row["plan"] == "autotm" and row["step_ns"] for row in trials["measured"])
x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))
losses = []
while len(losses) < steps:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item().hex())
    if report and len(losses) % 20 == 0 and over(): break
try: print("children", os.waitpid(-1, os.WNOHANG), file=sys.stderr)
except ChildProcessError: pass
if told: print("signals", len(told), file=sys.stderr)
print(len(losses))
print("\\n".join(losses))
'''
MANY = 20000
LONG = {"LAYERS": "12", "HEARTH_AUTOTM": "300", "LIVE": ""}  # takes a while to solve


class Planner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hearth-test-")
        self.addCleanup(self.folder.cleanup)
        self.place = Path(self.folder.name)
        self.scratch = self.place / "scratch"
        self.scratch.mkdir()
        self.machine = self.place / "machine.json"
        self.machine.write_text(json.dumps(MACHINE))

    def knobs(self, **more):
        return dict(HEARTH_TIERS="emulated", HEARTH_FAST_CAPACITY="20%", HEARTH_MACHINE=self.machine, HEARTH_AUTOTM="2",
                    HEARTH_REPORT=self.place / "report.json", TMPDIR=self.scratch, LIVE=self.place / "live.json", **more)

    def report(self): return json.loads((self.place / "report.json").read_text())

    def train(self, library=LIBRARY, steps=MANY, **more):
        done = run_python(TRAINING, preload=[library], STEPS=steps, **self.knobs(**more))
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = int(done.stdout.splitlines()[0])
        self.assertEqual(done.stdout, run_python(TRAINING, STEPS=steps).stdout)
        self.assertEqual(self.left_behind(), [])
        return done, self.report()

    def left_behind(self): return list(self.scratch.glob("hearth-*"))

    def test_a_plan_is_solved_for_and_tried(self):
        done, report = self.train()
        trials = report["trials"]
        if trials["autotm"] == "failed":
            told = [each["cause"] for each in report["degradations"] if each["what"] == "autotm"]
            self.assertIn("without a solver", told[0])
            self.skipTest(told[0])
        self.assertEqual(done.stderr, "")
        self.assertIn(trials["autotm"], ("arrived", "no better"))
        self.assertEqual((report["state"], report["degradations"]), ("managed", []), trials)
        if trials["autotm"] == "no better": return self.assertEqual(trials["measured"], [])
        rows = {row["plan"]: row for row in trials["measured"]}
        self.assertGreater(rows["autotm"]["foreseen_ns"], 0, trials)
        self.assertEqual(sum(row["kept"] for row in trials["measured"]), 1, trials)
        followed = report["tiers"]["account"]["policy"]
        self.assertEqual(followed.startswith("autotm"), rows["autotm"]["kept"], (followed, trials))
        self.assertLessEqual(report["tiers"]["fast_peak_bytes"], report["tiers"]["fast_capacity_bytes"])

    def test_no_tool_is_one_line(self):
        alone = self.place / "lib"
        alone.mkdir()
        for file in Path(LIBRARY).parent.glob("libhearth*.so"): shutil.copy(file, alone)
        done, report = self.train(library=str(alone / Path(LIBRARY).name))
        self.assertRegex(done.stderr, r"^\[hearth:\d+\] W: HEARTH_AUTOTM: there is no tool beside libhearth.so; [^\n]+\n$")
        self.assertEqual((report["trials"]["autotm"], report["state"]), ("failed", "managed"))

    def test_nowhere_to_write_is_one_line(self):
        done = run_python(TRAINING, preload=[LIBRARY], STEPS=60, **{**self.knobs(), "TMPDIR": "/nonexistent", "LIVE": ""})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^\[hearth:\d+\] W: HEARTH_AUTOTM: no folder can be made [^\n]+\n$")

    def test_one_that_ends_meanwhile_leaves_nothing(self):
        done = run_python(TRAINING, preload=[LIBRARY], STEPS=20, **{**self.knobs(), **LONG})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.wait_for_the_end()

    def test_the_tool_ends_with_a_training_that_is_killed(self):
        program = self.place / "program.py"
        program.write_text(TRAINING)
        knobs = {key: str(value) for key, value in self.knobs().items()}
        environment = {**clean_environment(), **knobs, **LONG, "STEPS": str(MANY), "LD_PRELOAD": LIBRARY}
        with subprocess.Popen([PYTHON, str(program)], env=environment, stdout=subprocess.DEVNULL) as training:
            until = time.monotonic() + 60
            while not (started := self.tools()) and time.monotonic() < until and training.poll() is None: time.sleep(0.05)
            training.send_signal(signal.SIGKILL)
        if not started: self.skipTest("it had ended before it was seen: no solver?")
        self.wait_for_the_end()

    def wait_for_the_end(self):
        until = time.monotonic() + 60
        while (self.tools() or self.left_behind()) and time.monotonic() < until: time.sleep(0.1)
        self.assertEqual((self.tools(), self.left_behind()), ([], []))

    def tools(self):
        """Processes that solve for a training of ours."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try: words = path.read_bytes().split(b"\0")
            except OSError: continue
            if any(word.startswith(str(self.scratch).encode()) for word in words) and b"--beside" in words: found.append(path)
        return found


if __name__ == "__main__":
    unittest.main()
