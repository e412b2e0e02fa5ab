"""Plans of policy autotm, made by the tool from a trace: a training that follows one computes what the plain one does.

Losses and final weights to the last bit, in every mode (AutoTM's verifier), with tensors really moving.
"""
import json
import os
import tempfile
import unittest
from pathlib import Path

from runs import LIBRARY, run, run_python, run_with_report

TOOL = os.environ.get("HEARTH_TEST_TOOL", "")
MODES = ("static", "synchronous", "asynchronous")
FAST_BYTES = 6 << 20

TRAINING = '''
import torch, torch.nn as nn
torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                    nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(14):
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex())
for p in net.parameters(): print("weights", p.detach().double().sum().item().hex(), hash(p.detach().numpy().tobytes()))
'''

# So slow that where tensors lie matters to this host's ops; it moves as fast as it reads.
MACHINE = {"schema_version": 1, "measured": None, "machine": {
    "name": "crawling", "cores": 1, "gemm": 1e11, "fault_ns": 500, "outstanding": 10, "interference": 0.02, "scale": 1,
    "fast": {"read": 1.5e9, "write": 1e9, "latency_ns": 100, "bytes": 0},
    "slow": {"read": 2e8, "write": 1e8, "latency_ns": 1000, "bytes": 0},
    "move_to_fast": 1e9, "move_to_slow": 1e9}}


class Autotm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hearth-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)
        cls.machine, cls.trace = cls.path / "machine.json", cls.path / "t.trace"
        cls.machine.write_text(json.dumps(MACHINE))
        cls.plain = run_python(TRAINING, PYTHONHASHSEED=0)
        if cls.plain.returncode: raise AssertionError(cls.plain.stderr)
        traced = run_python(TRAINING, preload=[LIBRARY], PYTHONHASHSEED=0, HEARTH_PROFILE="ops", HEARTH_TRACE=cls.trace)
        if (traced.returncode, traced.stderr) != (0, ""): raise AssertionError(traced.stderr)
        cls.plans = None

    def plan(self, *options):
        return run([TOOL, "plan", str(self.trace), "--fast", str(FAST_BYTES), "--machine", str(self.machine),
                    "--policy", "autotm", "--time-limit", "5", *map(str, options)])

    def setUp(self):
        """Solved for once, for all tests: {mode: what the tool told}, the plans beside it."""
        if not Autotm.plans: Autotm.plans = {mode: self.solve(mode) for mode in MODES}

    def solve(self, mode):
        done = self.plan("--mode", mode, "--gap", "0.002", "-o", self.path / f"{mode}.json", "--json")
        if "without a solver" in done.stderr:
            self.assertEqual(done.returncode, 1)
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_losses_and_weights_are_those_of_the_plain_run(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                file = self.path / f"{mode}.json"
                moves = len(json.loads(file.read_text())["residency"]["moves"])
                self.assertEqual(moves > 0, mode != "static", self.plans[mode])
                done, report = run_with_report(TRAINING, PYTHONHASHSEED=0, HEARTH_PLAN=file, HEARTH_TIERS="emulated",
                                               HEARTH_FAST_CAPACITY=FAST_BYTES, HEARTH_MACHINE=self.machine)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, self.plain.stdout)
                self.check_followed(report, moves)

    def check_followed(self, report, moves):
        plan, tiers = report["plan"], report["tiers"]
        self.assertEqual(report["state"], "managed", plan)
        self.assertGreater(plan["taken"], 100, plan)
        self.assertEqual(plan["bad_frees"], 0, plan)
        self.assertLessEqual(tiers["fast_peak_bytes"], tiers["fast_capacity_bytes"], tiers)
        self.assertGreater(tiers["slow_bytes"], 0, tiers)
        if moves: self.assertGreater(tiers["steady"]["to_fast_bytes"], 0, tiers)

    def test_each_mode_is_at_least_as_good_as_the_one_before(self):
        steps = [self.plans[mode]["autotm"] for mode in MODES]
        for before, after in zip(steps, steps[1:]):
            # The program has it so; the simulator, which knows more, nearly.
            self.assertLessEqual(after["bound_ns"], before["objective_ns"], steps)
            self.assertLessEqual(after["simulated_step_ns"], before["simulated_step_ns"] * 1.02, steps)


if __name__ == "__main__":
    unittest.main()
